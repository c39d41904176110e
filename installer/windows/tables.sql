-- What wixl cannot write into the package; each line is one statement of Windows Installer's SQL (msibuild -q).
-- PATH: "=" written at installation, "-" taken away at removal, "*" the machine's. [~] is what was there before.
CREATE TABLE `Environment` (`Environment` CHAR(72) NOT NULL, `Name` CHAR(255) NOT NULL LOCALIZABLE, `Value` CHAR(255) LOCALIZABLE, `Component_` CHAR(72) NOT NULL PRIMARY KEY `Environment`)
INSERT INTO `Environment` (`Environment`, `Name`, `Value`, `Component_`) VALUES ('Path', '=-*PATH', '[~];[InstallDir]', 'sbx.exe')
-- Without it Windows would take the program for a file without a version, and let any older one with a version stay.
UPDATE `File` SET `Version` = '@FILE_VERSION@', `Language` = '1033' WHERE `File` = 'sbx.exe'
-- Rollback actions, which wixl would run at once: a program of ours (18), its status ignored (64), in the rollback script (256 + 1024), by the
-- system (2048).
UPDATE `CustomAction` SET `Type` = 3410 WHERE `Action` = 'RemoveServiceUndo'
UPDATE `CustomAction` SET `Type` = 3410 WHERE `Action` = 'RenewServiceUndo'
UPDATE `CustomAction` SET `Type` = 3410 WHERE `Action` = 'AddServiceUndo'
