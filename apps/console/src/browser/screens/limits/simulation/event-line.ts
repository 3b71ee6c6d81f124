import { parseTime } from '../../../forms/event-time.ts'
import type { Arrival } from './traffic.ts'

/** What is wrong with a line. */
export type LineFaultCode = 'json' | 'quote' | 'time' | 'caller' | 'route' | 'count'

/** A line that is no event: what is wrong, and what stands there. */
export interface Fault {
  readonly code: LineFaultCode
  readonly found: string
}

/** What a line says: requests of one caller at one time. */
export type Event = Arrival & { readonly count: number }

/** The names of the columns of a table, and what separates them. */
export interface TableHead {
  readonly names: readonly string[]
  readonly separator: string
}

/** The most requests that one line stands for. */
const maxCount = 100_000

/** The names that each part of an event may have, as gateways, proxies and spreadsheets write them. */
const names = {
  time: ['time', 'at', 'timestamp', '@timestamp', 'date'],
  route: ['route', 'path', 'url', 'uri'],
  method: ['method', 'verb'],
  count: ['count', 'requests'],
}

/** Who counts, in this order: a key counts by itself, whoever owns it, and an address only where nobody is named. */
const callerNames = [
  ['key', ['api_key', 'apikey', 'key']],
  ['user', ['user', 'user_id', 'sub']],
  ['client', ['client', 'client_id']],
  ['ip', ['ip', 'address', 'remote_addr', 'client_ip']],
  ['', ['caller']],
] as const

/** Reads an event that is a JSON object. */
export function readJson(line: string): Event | Fault {
  try {
    const value: unknown = JSON.parse(line)
    const members = Object.entries(value as object).map(([name, member]) => [name.toLowerCase(), member] as const)
    return toEvent(new Map(members))
  } catch {
    return { code: 'json', found: shorten(line) }
  }
}

/** Whether a line names the columns of a table. */
export function isTableHead(line: string): boolean {
  const { names: columns } = tableHeadOf(line)
  return names.time.some((name) => columns.includes(name))
}

/** The columns that a line names. */
export function tableHeadOf(line: string): TableHead {
  const separator = [';', '\t', ','].find((one) => line.includes(one)) ?? ','
  return { separator, names: (cellsOf(line, separator) ?? []).map((name) => name.toLowerCase()) }
}

/** Reads an event that is a row of a table. */
export function readRow(line: string, { names: columns, separator }: TableHead): Event | Fault {
  const cells = cellsOf(line, separator)
  if (cells === undefined) return { code: 'quote', found: shorten(line) }
  return toEvent(new Map(columns.map((name, at) => [name, cells[at] || undefined])))
}

/** Reads an event that is a time and, if you like, a caller. */
export function readPlain(line: string): Event | Fault {
  // With `s` it always matches: where it does not, it would try every way to.
  const [, time, caller] = /^(\d{4}-\d\d-\d\d[ T][^\s,;]+|[^\s,;]*)[\s,;]*(.*)$/s.exec(line.trim()) ?? []
  return toEvent(new Map([['time', time], ...(caller ? [['caller', caller] as const] : [])]))
}

type Members = ReadonlyMap<string, unknown>

function toEvent(members: Members): Event | Fault {
  const found = pick(members, names.time)
  const at = parseTime(found)
  if (at === undefined) return fault('time', found)
  const count = pick(members, names.count) ?? 1
  if (!isCount(Number(count))) return fault('count', count)
  const caller = callerOf(members)
  if (typeof caller !== 'string') return caller
  const [route, method] = [pick(members, names.route), pick(members, names.method)]
  const wrong = [route, method].find((one) => one !== undefined && typeof one !== 'string')
  if (wrong !== undefined) return fault('route', wrong)
  const called = [method, withoutQuery(route)].filter((part) => part !== undefined).join(' ')
  return { at, caller, count: Number(count), ...(called === '' ? {} : { route: called }) }
}

function callerOf(members: Members): string | Fault {
  for (const [kind, possible] of callerNames) {
    const id = pick(members, possible)
    if (id === undefined) continue
    if (typeof id !== 'string' && typeof id !== 'number') return fault('caller', id)
    return `${kind} ${id}`.trim()
  }
  return 'caller 1'
}

/** The first member with one of the names that has a value. */
function pick(members: Members, possible: readonly string[]): unknown {
  const name = possible.find((one) => members.get(one) !== undefined && members.get(one) !== null)
  return name === undefined ? undefined : members.get(name)
}

const isCount = (count: number) => Number.isInteger(count) && count >= 1 && count <= maxCount

/** What is behind the question mark is not part of a route. */
const withoutQuery = (route: unknown) => (typeof route === 'string' ? route.split('?', 1)[0] : undefined)

/** The cells of a line of CSV, RFC 4180; undefined when a quote is not closed. */
function cellsOf(line: string, separator: string): string[] | undefined {
  const cells: string[] = []
  let cell = ''
  let isQuoted = false
  for (let at = 0; at < line.length; at++) {
    const character = line[at]
    if (isQuoted && character === '"' && line[at + 1] === '"') cell += line[at++]
    else if (character === '"' && (isQuoted || cell.trim() === '')) isQuoted = !isQuoted
    else if (character === separator && !isQuoted) {
      cells.push(cell.trim())
      cell = ''
    } else cell += character
  }
  return isQuoted ? undefined : [...cells, cell.trim()]
}

const fault = (code: LineFaultCode, found: unknown): Fault => ({ code, found: shorten(textOf(found)) })

const textOf = (found: unknown) =>
  typeof found === 'string' ? found : found === undefined ? '' : JSON.stringify(found)

const maxShown = 40

function shorten(text: string): string {
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}
