// Compiled by package.test.mjs, never executed: what the declarations accept and refuse.

import { open, OnewriterError, result, type Database, type Row, type Statement } from '../index.js';

interface Note {
    id: bigint;
    text: string;
}

export async function accepted(): Promise<void> {
    await using db: Database = await open('app.db', { driver: 'better-sqlite3', synchronous: 'NORMAL', bigint: true });
    const plan: Statement[] = [
        { sql: 'INSERT INTO note(text) VALUES (?) RETURNING id', params: ['a'], expect: 1 },
        { sql: 'INSERT INTO link VALUES (:id, :data)', params: { id: result(0, 'id'), data: new Uint8Array(1) } },
    ];
    const [first] = await db.write(plan);
    const rows: Row[] = first?.rows ?? [];
    const count: number = (await db.execute('DELETE FROM note WHERE id = ?', [1n])).count;
    const notes: Note[] = await db.read<Note>('SELECT id, text FROM note WHERE text > ?', [null]);
    await db.room();
    const { commits, writes } = db.counts;
    console.log(rows, count, notes, commits + writes + db.pending);
    try {
        await db.close();
    } catch (error) {
        if (error instanceof OnewriterError && error.code === 'SQLITE_CONSTRAINT_UNIQUE') console.log(error.uncertain);
    }
}

export async function refused(db: Database): Promise<void> {
    // @ts-expect-error: no driver of this name
    await open('app.db', { driver: 'sqlite3' });
    // @ts-expect-error: less than NORMAL is not offered
    await open('app.db', { synchronous: 'OFF' });
    // @ts-expect-error: a boolean is no value of SQLite
    await db.execute('SELECT ?', [true]);
    // @ts-expect-error: there is no earlier statement
    await db.execute('SELECT ?', [result(0, 'id')]);
    // @ts-expect-error: a plan is an array
    await db.write({ sql: 'SELECT 1' });
    // @ts-expect-error: no code of this name
    console.log((error: OnewriterError) => error.code === 'ERR_OTHER');
}
