// Compiles the optional driver sqlite3 against the headers of the Node.js that this package installs. The package's own
// install script would download a binary that no lock file covers, and use the Node.js that npm runs on; package.json
// therefore denies it.
//
// Without a C++ compiler only this driver is missing: `describe` does not list it, and this program exits with 0.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

const modules = join(import.meta.dirname, 'node_modules');
const driver = join(modules, 'sqlite3');
const built = join(driver, 'build', 'Release', 'node_sqlite3.node');
const nodedir = dirname(dirname(process.execPath));

/** Returns the reason why the driver cannot be compiled, or nothing. */
function compile() {
    if (!existsSync(driver)) return 'npm did not install it';
    const major = Number(process.versions.node.split('.')[0]);
    if (major < 24) return `this is Node.js ${process.version}; run it as \`npm run build\``;
    const gyp = join(modules, 'node-gyp', 'bin', 'node-gyp.js');
    const jobs = `--jobs=${availableParallelism()}`;
    const words = [gyp, 'rebuild', '--release', jobs, `--nodedir=${nodedir}`];
    const { status, error } = spawnSync(process.execPath, words, { cwd: driver, stdio: ['ignore', 2, 2] });
    return status === 0 ? undefined : `node-gyp failed (${error?.message ?? `exit code ${status}`})`;
}

if (!existsSync(built)) {
    const reason = compile();
    if (reason) console.error(`the driver sqlite3 is left out: ${reason}`);
}
