"""The part of JSON Schema that `sbx schema rpc` uses: what is wrong with a message, or nothing."""

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None)}


def is_type(value, name):
    if name == "integer" and isinstance(value, bool):
        return False
    return isinstance(value, TYPES[name])


def object_faults(schema, value, where):
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}: no member {name}"
    for name, member in value.items():
        if name in known:
            yield from faults(known[name], member, f"{where}.{name}")
        elif schema.get("additionalProperties", True) is False:
            yield f"{where}: a member {name} that the schema does not have"
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from faults(schema["additionalProperties"], member, f"{where}.{name}")


def faults(schema, value, where):
    """Every way in which the value is not as the schema says."""
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_type(value, name) for name in names):
        yield f"{where}: {value!r:.80} is not {' or '.join(names)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r:.80} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r:.80} is none of {schema['enum']}"
    if isinstance(value, dict):
        yield from object_faults(schema, value, where)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{where}: {len(value)} items"
        for index, item in enumerate(value):
            yield from faults(schema.get("items", {}), item, f"{where}[{index}]")
    elif isinstance(value, int) and not isinstance(value, bool):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            yield f"{where}: {value} is out of its range"
    elif isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        yield f"{where}: {len(value)} characters"
