// The Node client against a worker: the scripted one, and the real service where SBX_SERVICE names it.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';
import {test} from 'node:test';
import {setTimeout as sleep} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const PACKAGE = path.join(ROOT, 'clients/node');
const sbx = await import(path.join(PACKAGE, 'index.mjs'));
const PYTHON = process.env.SBX_PYTHON ?? 'python3';
const SCRIPTED = [PYTHON, '-B', path.join(ROOT, 'tests/clients/worker.py')];
const SERVICE = process.env.SBX_SERVICE ? process.env.SBX_SERVICE.split('\x1f') : null;
const ALL = Buffer.concat([...Array(2000)].map(() => Buffer.from([...Array(256).keys()])));

async function until(condition) {
  for (let left = 3000; left > 0 && !(await condition()); left--) await sleep(20);
  return condition();
}

function directory(t) {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'sbx-node-'));
  t.after(() => fs.rmSync(made, {recursive: true, force: true}));
  return made;
}

function common(name, command) {
  const connected = async (t) => {
    const client = await sbx.connect({start: 'always', command});
    t.after(() => client.close());
    return client;
  };
  const promise = (text, body) => test(`${name}: ${text}`, {timeout: 120000}, async (t) => body(await connected(t), t));

  promise('output is exactly the bytes', async (box) => {
    const body = Buffer.concat([ALL, Buffer.from('grüße\n'.repeat(1000))]);
    const done = await box.run(['cat'], {input: body});
    assert.equal(done.status, 0);
    assert.ok(done.stdout.equals(body));
    const other = await box.run(['sh', '-c', 'printf out; printf err >&2; exit 3']);
    assert.deepEqual([other.status, other.stdout.toString(), other.stderr.toString()], [3, 'out', 'err']);
  });

  promise('streams are Node streams, with input', async (box) => {
    const run = await box.start(['sh', '-c', 'echo one; read x; echo got $x; read y; exit 7'], {stdin: 'pipe'});
    run.stderr.resume();
    let text = '';
    for await (const bytes of run.stdout) {
      text += bytes;
      if (text === 'one\n') run.stdin.write('two\n');
      if (text === 'one\ngot two\n') run.stdin.end();
    }
    assert.equal(text, 'one\ngot two\n');
    assert.equal((await run.wait()).status, 7);
    assert.equal((await run.wait()).status, 7);
  });

  promise('signals, cancelling and AbortSignal end a run', async (box) => {
    const run = await box.start(['sh', '-c', "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.1; done"]);
    run.stderr.resume();
    let text = '';
    for await (const bytes of run.stdout) {
      text += bytes;
      if (text === 'ready\n') await run.kill('SIGTERM');
    }
    assert.deepEqual([text, (await run.wait()).status], ['ready\ncaught\n', 5]);
    const other = await box.start(['sleep', '1000']);
    await other.cancel();
    assert.notEqual((await other.wait()).status, 0);
    const abort = new AbortController();
    const pending = box.run(['sh', '-c', 'echo ready; exec sleep 1000'],
        {signal: abort.signal, onStdout: () => abort.abort(new Error('enough'))});
    await assert.rejects(pending, /enough/);
    await assert.rejects(box.run(['true'], {signal: AbortSignal.abort(new Error('never'))}), /never/);
    await box.ping();
  });

  promise('callbacks get the pieces, too much output is cut and told', async (box) => {
    const got = [];
    await box.run(['sh', '-c', 'echo a; echo b >&2'],
        {onStdout: (bytes) => { got.push(bytes.toString()); }, onStderr: (bytes) => { got.push(bytes.toString()); }});
    assert.deepEqual(got.sort(), ['a\n', 'b\n']);
    const done = await box.run(['sh', '-c', 'head -c 300000 /dev/zero'], {maxOutput: 1000});
    assert.deepEqual([done.stdout.length, done.truncated, done.status], [1000, true, 0]);
  });

  promise('many runs at a time', async (box) => {
    const all = await Promise.all([0, 1, 2, 3, 4, 5].map((n) => box.run(['sh', '-c', `echo ${n}; exit ${n}`])));
    assert.deepEqual(all.map((done) => [done.status, done.stdout.toString()]), [0, 1, 2, 3, 4, 5].map((n) => [n, `${n}\n`]));
  });

  promise('a vanished service is a clear error', async (box) => {
    const run = await box.start(['sleep', '1000']);
    run.stdout.on('error', () => {});
    run.stderr.on('error', () => {});
    box.link.child.kill('SIGKILL');
    await assert.rejects(run.wait(), sbx.ConnectionLostError);
    await assert.rejects(box.ping(), sbx.ConnectionLostError);
  });

  promise('explain, verify, doctor', async (box) => {
    assert.ok('plan' in await box.explain(['true']));
    assert.equal((await box.verify('/no/such/manifest.toml')).ok, false);
    assert.equal((await box.doctor()).command, 'doctor');
  });
}

common('scripted', SCRIPTED);
if (SERVICE) {
  common('service', SERVICE);
  test('service: a denial is told', async () => {
    const done = await sbx.run(['sh', '-c', 'echo x > /etc/sbx-client-denied'], {start: 'always', command: SERVICE});
    assert.notEqual(done.status, 0);
    assert.deepEqual(done.denials.map((denial) => denial.path), ['/etc/sbx-client-denied']);
  });
}

test('a slow reader slows its box and no other', {timeout: 120000}, async (t) => {
  const box = await sbx.connect({start: 'always', command: SCRIPTED});
  t.after(() => box.close());
  const window = box.limits.window;
  const sent = async () => (await box.list())[0].sent.stdout;
  const run = await box.start(['sh', '-c', 'head -c 3000000 /dev/zero']);
  run.stderr.resume();
  assert.ok(await until(async () => await sent() === window), 'it gets its credit and no more');
  assert.equal((await box.run(['sh', '-c', 'head -c 500000 /dev/zero'])).stdout.length, 500000);
  assert.equal(await sent(), window, 'nobody took anything');
  let total = 0;
  for await (const bytes of run.stdout) {
    total += bytes.length;
    if (total < 4 * window) assert.ok(await sent() <= total + window + 2 * run.stdout.readableHighWaterMark);
  }
  assert.deepEqual([total, (await run.wait()).status], [3000000, 0]);
});

test('output that is not wanted does not stop the box', {timeout: 120000}, async (t) => {
  const box = await sbx.connect({start: 'always', command: SCRIPTED});
  t.after(() => box.close());
  const run = await box.start(['sh', '-c', 'head -c 3000000 /dev/zero; exit 4']);
  run.stdout.destroy();
  run.stderr.destroy();
  assert.equal((await run.wait()).status, 4);
});

test('errors are classes with name and hint', async (t) => {
  const box = await sbx.connect({start: 'always', command: SCRIPTED});
  t.after(() => box.close());
  for (const [label, Class, kind] of [['refuse', sbx.RefusedError, 'sandbox_unavailable'],
    ['invalid', sbx.PolicyInvalidError, 'policy_invalid'], ['missing', sbx.NotFoundError, 'not_found'],
    ['busy', sbx.OverloadedError, 'overloaded']]) {
    const error = await box.run(['true'], {label}).catch((caught) => caught);
    assert.ok(error instanceof Class && error instanceof sbx.SbxError, `${label}: ${error}`);
    assert.deepEqual([error.name, error.kind, error.retryable], [Class.name, kind, label === 'busy']);
  }
  const refused = await box.start(['true'], {label: 'refuse'}).catch((caught) => caught);
  assert.deepEqual([refused.code, refused.hint, refused.outcome], [-33000, 'install bubblewrap', {status: 125}]);
  await assert.rejects(box.start(['x'.repeat(1 << 20)]), sbx.LimitError);
  await box.ping();
});

test('a service that dies or talks nonsense', async (t) => {
  const dying = await sbx.connect({start: 'always', command: SCRIPTED});
  t.after(() => dying.close());
  await assert.rejects(dying.start(['true'], {env: {SBX_TEST_DIE: '1'}}), sbx.ConnectionLostError);
  const talking = await sbx.connect({start: 'always', command: SCRIPTED});
  t.after(() => talking.close());
  await assert.rejects(talking.run(['sleep', '100'], {env: {...process.env, SBX_TEST_GARBAGE: '1'}}), sbx.ProtocolError);
});

test('sockets are found by their places', {timeout: 120000}, async (t) => {
  const folder = directory(t);
  const place = path.join(folder, 'sbx', 'sbx.sock');
  fs.mkdirSync(path.dirname(place));
  for (const env of [{SBX_SOCKET: place}, {XDG_RUNTIME_DIR: folder}]) {
    assert.equal(sbx.places(env)[0], place);
    const worker = spawn(SCRIPTED[0], [...SCRIPTED.slice(1), '--socket', place], {stdio: ['ignore', 'pipe', 'inherit']});
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    await new Promise((resolve) => worker.stdout.once('data', resolve));
    const box = await sbx.connect({start: 'never', env});
    assert.equal((await box.run(['echo', 'hi'])).stdout.toString(), 'hi\n');
    await box.close();
    await ended;
    fs.unlinkSync(place);
  }
  await assert.rejects(sbx.connect({socket: path.join(folder, 'none')}), sbx.UnavailableError);
  await assert.rejects(sbx.connect({start: 'always', command: ['sh', '-c', 'echo told why >&2; exit 1']}), /told why/);
  await assert.rejects(sbx.connect({start: 'always', program: path.join(folder, 'no-sbx')}), sbx.UnavailableError);
});

test('the example of the README runs', (t) => {
  const folder = directory(t);
  const example = /```js\n([\s\S]*?)```/.exec(fs.readFileSync(path.join(PACKAGE, 'README.md'), 'utf8'))[1];
  fs.mkdirSync(path.join(folder, 'node_modules'));
  fs.symlinkSync(PACKAGE, path.join(folder, 'node_modules', 'sbx-client'));
  fs.writeFileSync(path.join(folder, 'example.mjs'), example);
  fs.writeFileSync(path.join(folder, 'sbx'), `#!/bin/sh\nexec ${SCRIPTED.map((word) => `'${word}'`).join(' ')}\n`, {mode: 0o755});
  const done = spawnSync(process.execPath, ['example.mjs'], {
    cwd: folder, encoding: 'utf8', timeout: 60000,
    env: {...process.env, PATH: `${folder}:${process.env.PATH}`, SBX_SOCKET: path.join(folder, 'none')},
  });
  assert.equal(done.stderr, '');
  assert.equal(done.stdout, '0 hello\n from here\n1\n2\n3\n0\n');
});

test('both kinds of modules export the same, and the declarations name all of it', () => {
  const required = createRequire(import.meta.url)(path.join(PACKAGE, 'sbx.cjs'));
  const names = Object.keys(required).sort();
  assert.deepEqual(Object.keys(sbx).filter((name) => name !== 'default').sort(), names);
  const declared = fs.readFileSync(path.join(PACKAGE, 'index.d.ts'), 'utf8');
  const exported = [...declared.matchAll(/^export (?:class|function|const) (\w+)/gm)].map((found) => found[1]).sort();
  assert.deepEqual(exported, names);
  for (const name of ['Client', 'Run']) {
    const methods = Object.getOwnPropertyNames(required[name].prototype);
    const body = new RegExp(`export class ${name} \\{([\\s\\S]*?)\\n\\}`).exec(declared)[1];
    for (const [, method] of body.matchAll(/^ {2}(\w+)\(/gm)) assert.ok(methods.includes(method), `${name}.${method}`);
  }
  const {files, version} = JSON.parse(fs.readFileSync(path.join(PACKAGE, 'package.json'), 'utf8'));
  for (const file of files) assert.ok(fs.existsSync(path.join(PACKAGE, file)), file);
  assert.equal(version, required.VERSION);
});
