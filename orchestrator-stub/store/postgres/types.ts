import pg from 'pg';

/** Numbers of PostgreSQL's types, from its pg_type.dat. */
const INT8 = 20;

/** How columns are read: BIGINT as a number, as SQLite gives it, all else as pg does. Ours stay far below 2^53. */
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    Number(type) === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(type, format),
};
