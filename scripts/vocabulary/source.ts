/** Reads TypeScript and JavaScript: its identifiers, its strings, and the titles of its tests. */
import { parseSync } from 'oxc-parser'
import { lineAt, sqlTerms, type Term } from './terms.ts'

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

export interface TestTitle {
  readonly title: string
  readonly line: number
}

const sqlKeyword = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|WITH|FROM|WHERE|JOIN)\b/
const testFunctions = new Set(['test', 'it', 'describe', 'suite'])

/** The identifiers and strings of a source file; comments and import specifiers are left out. */
export function sourceTerms(path: string, text: string): Term[] {
  const terms: Term[] = []
  walk(parse(path, text), (node) => {
    const line = (): number => lineAt(text, node.start)
    if (node.type === 'Identifier' || node.type === 'PrivateIdentifier')
      terms.push({ kind: 'name', value: String(node.name), line: line() })
    const string = stringOf(node)
    if (string !== undefined && string !== '') terms.push(...stringTerms(string, line()))
  })
  return terms
}

/** The titles of tests and suites that are written out, templates and sums included. */
export function testTitles(path: string, text: string): TestTitle[] {
  const titles: TestTitle[] = []
  walk(parse(path, text), (node) => {
    if (node.type !== 'CallExpression') return
    const [callee, title] = [node.callee as Node, (node.arguments as Node[])[0]]
    const name = callee.type === 'MemberExpression' ? (callee.object as Node).name : callee.name
    if (title === undefined || !testFunctions.has(String(name))) return
    const value = titleOf(title, text)
    if (value !== undefined) titles.push({ title: value, line: lineAt(text, title.start) })
  })
  return titles
}

function parse(path: string, text: string): Node {
  const { program, errors } = parseSync(path, text)
  const [error] = errors
  if (error !== undefined) throw new Error(`${path}: ${error.message}`)
  return program as unknown as Node
}

/** Calls `enter` for each node, except the specifiers of imports and re-exports. */
function walk(node: Node, enter: (node: Node) => void): void {
  enter(node)
  const isImport = /^(Import|Export)\w*Declaration$/.test(node.type)
  for (const [name, member] of Object.entries(node)) {
    if (isImport && name === 'source') continue
    for (const child of Array.isArray(member) ? member : [member]) if (isNode(child)) walk(child, enter)
  }
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value

function stringOf(node: Node): string | undefined {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node.type === 'TemplateElement') return (node.value as { readonly cooked?: string }).cooked
  return undefined
}

/** A string is SQL, or a name such as a state or an error code, or a text. */
function stringTerms(value: string, line: number): Term[] {
  if (sqlKeyword.test(value)) return sqlTerms(value, line)
  return [{ kind: /^[\w-]+$/.test(value) ? 'name' : 'text', value, line }]
}

function titleOf(node: Node, text: string): string | undefined {
  if (node.type === 'TemplateLiteral') return text.slice(node.start + 1, node.end - 1)
  if (node.type !== 'BinaryExpression') return stringOf(node)
  const [left, right] = [titleOf(node.left as Node, text), titleOf(node.right as Node, text)]
  return left !== undefined && right !== undefined ? left + right : undefined
}
