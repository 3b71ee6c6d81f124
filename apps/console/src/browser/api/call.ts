import { type OperationId, operations } from '../../actions/index.ts'
import { readProblem } from './problem.ts'

/*
 * The one module that calls the server of the console. A typed client of the APIs can take its place: it needs `call`.
 */

/** The input of an operation. */
export interface Input {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
}

const base = '/console/api'

/** The address of an operation at the server of the console. */
function addressOf(id: OperationId, { params = {}, query = {} }: Input = {}): string {
  const path = operations[id].path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString()
  return `${base}${path}${search === '' ? '' : `?${search}`}`
}

/** Calls an operation. @throws ApiError when it is refused, TypeError when the server cannot be reached */
export async function call<Answer>(id: OperationId, input: Input = {}, signal?: AbortSignal): Promise<Answer> {
  return request<Answer>(operations[id].method, addressOf(id, input), input.body, signal)
}

/** Calls an endpoint of the console itself. */
export async function callConsole<Answer>(method: 'GET' | 'POST', path: string, signal?: AbortSignal): Promise<Answer> {
  return request<Answer>(method, `${base}${path}`, undefined, signal)
}

async function request<Answer>(method: string, address: string, body: unknown, signal?: AbortSignal): Promise<Answer> {
  const headers: Record<string, string> = { 'x-console': '1', accept: 'application/json' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const response = await fetch(address, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  })
  if (!response.ok) throw await readProblem(response)
  return (response.status === 204 ? undefined : await response.json()) as Answer
}

/** Downloads what an operation answers as a file. */
export async function download(id: OperationId, input: Input, fileName: string): Promise<void> {
  const response = await fetch(addressOf(id, input), { headers: { 'x-console': '1' } })
  if (!response.ok) throw await readProblem(response)
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download = fileName
  link.click()
  URL.revokeObjectURL(link.href)
}
