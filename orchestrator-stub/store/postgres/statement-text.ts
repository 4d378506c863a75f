/** A statement with SQLite's question marks (`?`, or `?1` where a value is used twice) as PostgreSQL numbers them. Each is translated once. */
export class StatementTexts {
  readonly #known = new Map<string, string>();

  of(sql: string): string {
    let text = this.#known.get(sql);
    if (text === undefined) {
      text = number(sql);
      this.#known.set(sql, text);
    }
    return text;
  }
}

/** Question marks inside quotes are text. */
const QUOTED_OR_MARK = /'[^']*'|"[^"]*"|\?(\d*)/g;

function number(sql: string): string {
  let count = 0;
  return sql.replace(QUOTED_OR_MARK, (found, digits: string | undefined) => {
    if (digits === undefined) return found;
    count += 1;
    return `$${digits || count}`;
  });
}
