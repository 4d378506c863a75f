/** Whole-number arithmetic as shell texts like "12 * 1024" have it: + - * / % and parentheses. Nothing is executed. */
export function evaluate(text: string): number | undefined {
  const tokens = text.match(/\d+|[-+*/%()]|\S/g) ?? [];
  let at = 0;
  const peek = () => tokens[at];

  const factor = (): number => {
    const token = tokens[at++];
    if (token === '(') {
      const value = sum();
      return tokens[at++] === ')' ? value : Number.NaN;
    }
    if (token === '-') return -factor();
    return token !== undefined && /^\d+$/.test(token) ? Number(token) : Number.NaN;
  };
  const product = (): number => {
    let value = factor();
    for (let operator = peek(); operator === '*' || operator === '/' || operator === '%'; operator = peek()) {
      at++;
      const right = factor();
      value = operator === '*' ? value * right : operator === '/' ? Math.trunc(value / right) : value % right;
    }
    return value;
  };
  const sum = (): number => {
    let value = product();
    for (let operator = peek(); operator === '+' || operator === '-'; operator = peek()) {
      at++;
      value = operator === '+' ? value + product() : value - product();
    }
    return value;
  };

  const value = sum();
  return at === tokens.length && Number.isSafeInteger(value) ? value : undefined;
}
