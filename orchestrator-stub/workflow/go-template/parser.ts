import { type Token, type TokenKind, tokenize } from './lexer.ts';
import type { Source } from './source.ts';
import type { Command, Operand, ParsedTemplate, Pipe, Statement } from './syntax-tree.ts';

const ENDS = new Set(['end', 'else']);

/** Parses a template; functions that do not exist are an error here already, as in Go. */
export function parseTemplate(source: Source, isFunction: (name: string) => boolean): ParsedTemplate {
  return new Parser(source, isFunction).parse();
}

/** Blanks and comments alone: such a definition replaces none, and may be replaced. */
function isEmptyBody(body: readonly Statement[]): boolean {
  return body.every((each) => each.kind === 'text' && each.text.trim() === '');
}

class Parser {
  readonly #source: Source;
  readonly #tokens: Token[];
  readonly #isFunction: (name: string) => boolean;
  readonly #defined = new Map<string, Statement[]>();
  #variables: string[] = ['$'];
  #position = 0;
  #rangeDepth = 0;

  constructor(source: Source, isFunction: (name: string) => boolean) {
    this.#source = source;
    this.#tokens = tokenize(source);
    this.#isFunction = isFunction;
  }

  parse(): ParsedTemplate {
    const { body, end } = this.#statements();
    if (end) throw this.#source.parseError(end.offset, `unexpected {{${end.value}}}`);
    return { body, defined: this.#defined };
  }

  /** Statements up to `{{end}}` or `{{else…}}`, whose word is consumed and returned. */
  #statements(): { body: Statement[]; end: Token | undefined } {
    const body: Statement[] = [];
    for (;;) {
      const token = this.#next();
      if (token.kind === 'end-of-file') return { body, end: undefined };
      if (token.kind === 'text') {
        body.push({ kind: 'text', text: token.value });
        continue;
      }
      const word = this.#peek();
      if (word.kind === 'word' && ENDS.has(word.value)) return { body, end: this.#next() };
      const statement = this.#statement(word);
      if (statement) body.push(statement);
    }
  }

  #statement(word: Token): Statement | undefined {
    const keyword = word.kind === 'word' ? word.value : '';
    switch (keyword) {
      case 'if':
      case 'with':
      case 'range':
        this.#next();
        return this.#branch(keyword);
      case 'define':
      case 'block':
        this.#next();
        return this.#define(keyword);
      case 'template': {
        this.#next();
        const name = this.#expect('string', 'in template clause');
        const pipe = this.#peek().kind === 'close' ? undefined : this.#pipe('template clause');
        this.#expect('close', 'in template clause');
        return { kind: 'template', name: name.value, pipe, offset: name.offset };
      }
      case 'break':
      case 'continue':
        this.#next();
        this.#expect('close', `in {{${keyword}}}`);
        if (this.#rangeDepth === 0) {
          throw this.#source.parseError(word.offset, `{{${keyword}}} outside {{range}}`);
        }
        return { kind: keyword };
      default: {
        const pipe = this.#pipe('command');
        this.#expect('close', 'in command');
        return { kind: 'action', pipe };
      }
    }
  }

  #branch(kind: 'if' | 'with' | 'range'): Statement {
    const visible = this.#variables.length;
    const pipe = this.#pipe(kind);
    this.#expect('close', `in ${kind}`);
    if (kind === 'range') this.#rangeDepth++;
    const { body, end } = this.#statements();
    if (kind === 'range') this.#rangeDepth--;
    let otherwise: Statement[] = [];
    if (end?.value === 'else') {
      const next = this.#peek();
      // "else if" and "else with" share the outer "end".
      if (next.kind === 'word' && next.value === kind && kind !== 'range') {
        this.#next();
        otherwise = [this.#branch(kind)];
        this.#variables.length = visible;
        return { kind, pipe, body, otherwise };
      }
      this.#expect('close', 'in else');
      const rest = this.#statements();
      if (rest.end?.value === 'else')
        throw this.#source.parseError(rest.end.offset, 'expected end; found {{else}}');
      this.#closeEnd(rest.end);
      otherwise = rest.body;
    } else {
      this.#closeEnd(end);
    }
    this.#variables.length = visible;
    return { kind, pipe, body, otherwise };
  }

  #define(keyword: 'define' | 'block'): Statement | undefined {
    const name = this.#expect('string', `in ${keyword} clause`);
    const pipe = keyword === 'block' ? this.#pipe('block clause') : undefined;
    this.#expect('close', `in ${keyword} clause`);
    const outer = this.#variables;
    this.#variables = ['$'];
    const { body, end } = this.#statements();
    this.#variables = outer;
    this.#closeEnd(end);
    if (!isEmptyBody(this.#defined.get(name.value) ?? []) && !isEmptyBody(body)) {
      throw this.#source.parseError(
        end?.offset ?? name.offset,
        `template: multiple definition of template "${name.value}"`,
      );
    }
    if (!this.#defined.has(name.value) || !isEmptyBody(body)) this.#defined.set(name.value, body);
    return pipe && { kind: 'template', name: name.value, pipe, offset: name.offset };
  }

  #closeEnd(end: Token | undefined): void {
    if (end?.value !== 'end') {
      throw this.#source.parseError(end?.offset ?? this.#source.text.length, 'unexpected EOF');
    }
    this.#expect('close', 'in end');
  }

  #pipe(context: string): Pipe {
    const start = this.#peek();
    const { variables, isAssignment } = this.#declaration(context);
    const commands: Command[] = [];
    for (;;) {
      const token = this.#peek();
      if (token.kind === 'close' || token.kind === 'right') break;
      if (token.kind === 'character') this.#expect('word', `in ${context}`);
      commands.push(this.#command(context));
      if (this.#peek().kind !== 'pipe') break;
      // Go takes a pipe at the end of an action for nothing.
      this.#next();
    }
    if (commands.length === 0) throw this.#source.parseError(start.offset, `missing value for ${context}`);
    for (const [index, command] of commands.entries()) {
      const first = command.operands[0];
      if (index > 0 && first && ['literal', 'number', 'nil', 'dot'].includes(first.kind)) {
        throw this.#source.parseError(
          command.offset,
          `non executable command in pipeline stage ${index + 1}`,
        );
      }
    }
    return { variables, isAssignment, commands, offset: start.offset, text: this.#textFrom(start.offset) };
  }

  #declaration(context: string): { variables: string[]; isAssignment: boolean } {
    const [first, second, third, fourth] = this.#tokens.slice(this.#position, this.#position + 4);
    if (first?.kind !== 'variable') return { variables: [], isAssignment: false };
    if (second?.kind === 'declare' || second?.kind === 'assign') {
      this.#position += 2;
      if (second.kind === 'declare') this.#variables.push(first.value);
      return { variables: [first.value], isAssignment: second.kind === 'assign' };
    }
    if (context === 'range' && second?.kind === 'comma' && third?.kind === 'variable' && fourth) {
      if (fourth.kind !== 'declare' && fourth.kind !== 'assign') {
        throw this.#source.parseError(fourth.offset, 'expected := or = in range');
      }
      this.#position += 4;
      if (fourth.kind === 'declare') this.#variables.push(first.value, third.value);
      return { variables: [first.value, third.value], isAssignment: fourth.kind === 'assign' };
    }
    return { variables: [], isAssignment: false };
  }

  #command(context: string): Command {
    const { offset } = this.#peek();
    const operands: Operand[] = [];
    while (!['close', 'right', 'pipe'].includes(this.#peek().kind)) {
      if (operands.length > 0 && !this.#peek().hasSpaceBefore) this.#expect('close', 'in operand');
      operands.push(this.#operand());
    }
    if (operands.length === 0) throw this.#source.parseError(offset, `empty command in ${context}`);
    return { operands, offset, text: this.#textFrom(offset) };
  }

  #operand(): Operand {
    const token = this.#next();
    const make = <T>(rest: T) => ({ ...rest, offset: token.offset, text: this.#textFrom(token.offset) });
    switch (token.kind) {
      case 'dot':
        return make({ kind: 'dot' as const });
      case 'field': {
        const names = [token.value.slice(1), ...this.#fields()];
        const operand = make({ kind: 'fields' as const, names });
        // Go names the place of the second field of a chain; so do we, to be comparable.
        return names.length > 1 ? { ...operand, offset: token.offset + token.value.length } : operand;
      }
      case 'variable': {
        if (!this.#variables.includes(token.value)) {
          throw this.#source.parseError(token.offset, `undefined variable "${token.value}"`);
        }
        const names = this.#fields();
        const operand = make({ kind: 'variable' as const, name: token.value, names });
        return names.length > 0 ? { ...operand, offset: token.offset + token.value.length } : operand;
      }
      case 'string':
        return make({ kind: 'literal' as const, value: token.value });
      case 'number':
        return make(this.#number(token));
      case 'left': {
        const pipe = this.#pipe('parenthesized pipeline');
        this.#expect('right', 'in parenthesized pipeline');
        const names = this.#fields();
        return make({ kind: 'pipe' as const, pipe, names });
      }
      case 'word':
        return make(this.#word(token));
      default:
        throw this.#source.parseError(token.offset, `unexpected ${JSON.stringify(token.value)} in operand`);
    }
  }

  #word(
    token: Token,
  ): { kind: 'literal'; value: boolean } | { kind: 'nil' } | { kind: 'function'; name: string } {
    if (token.value === 'true' || token.value === 'false')
      return { kind: 'literal', value: token.value === 'true' };
    if (token.value === 'nil') return { kind: 'nil' };
    if (!this.#isFunction(token.value)) {
      throw this.#source.parseError(token.offset, `function "${token.value}" not defined`);
    }
    return { kind: 'function', name: token.value };
  }

  /** A constant is what its parameter wants it to be: 1e3 is an int too, 1 a float64 too. */
  #number(token: Token): { kind: 'number'; int?: bigint; float?: number; isFloat: boolean } {
    const text = token.value.replaceAll('_', '');
    const [, sign = '', digits = ''] = /^([-+]?)(.*)$/s.exec(text) ?? [];
    const factor = sign === '-' ? -1 : 1;
    const bad = () => this.#source.parseError(token.offset, `bad number syntax: "${token.value}"`);
    if (/^(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/.test(digits)) {
      const value = BigInt(digits.replace(/^0([0-7])/, '0o$1')) * BigInt(factor);
      if (BigInt.asIntN(64, value) === value)
        return { kind: 'number', int: value, float: Number(value), isFloat: false };
      if (BigInt.asUintN(64, value) !== value)
        throw this.#source.parseError(token.offset, `integer overflow: "${token.value}"`);
      return { kind: 'number', float: Number(value), isFloat: false };
    }
    if (!/^(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(digits)) throw bad();
    const float = factor * Number(digits);
    if (!Number.isFinite(float)) throw bad();
    const isWhole = Number.isInteger(float) && Math.abs(float) < 2 ** 63;
    const isFloat = /[.eE]/.test(digits);
    if (!isFloat && !isWhole) throw bad();
    return { kind: 'number', float, isFloat, ...(isWhole ? { int: BigInt(float) } : {}) };
  }

  #fields(): string[] {
    const names: string[] = [];
    while (this.#peek().kind === 'field' && !this.#peek().hasSpaceBefore)
      names.push(this.#next().value.slice(1));
    return names;
  }

  #textFrom(offset: number): string {
    const last = this.#tokens[this.#position - 1];
    const next = this.#peek();
    const end = last ? Math.max(offset, next.offset) : next.offset;
    return this.#source.text.slice(offset, end).trim();
  }

  #expect(kind: TokenKind, context: string): Token {
    const token = this.#next();
    if (token.kind !== kind) {
      const found = token.kind === 'end-of-file' ? 'EOF' : JSON.stringify(token.value);
      throw this.#source.parseError(token.offset, `unexpected ${found} ${context}`);
    }
    return token;
  }

  #peek(): Token {
    return this.#tokens[this.#position] ?? this.#lastToken();
  }

  #next(): Token {
    const token = this.#peek();
    this.#position++;
    return token;
  }

  #lastToken(): Token {
    return { kind: 'end-of-file', value: '', offset: this.#source.text.length, hasSpaceBefore: false };
  }
}
