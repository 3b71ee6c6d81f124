import { type CallOptions, type CallRequest, call, connect, type Operations, requestOf } from '@gatehouse/client'
import { factsOf, type OperationId, slowAnswerMs } from '../../actions/index.ts'
import { isAttended } from './attendance.ts'

/*
 * The one module that calls the server of the console, which adds the credentials. It repeats nothing by itself: the
 * screens say that a call failed or when the next one may be made.
 */

const base = '/console/api'
/** The connection to the server of the console. */
export const consoleConnection = connect({
  baseUrl: base,
  headers: { 'x-console': '1' },
  maxAttempts: 1,
  allowInsecureHttp: true,
})

/** The input of an operation. */
type Input = Readonly<Record<string, unknown>>

/** Calls an operation. @throws ApiError when it is refused, ConnectionError when the server cannot be reached */
export async function callOperation<Id extends OperationId>(
  id: Id,
  input?: Operations[Id]['input'],
  options: CallOptions = {},
): Promise<Operations[Id]['output']> {
  return call(consoleConnection, requestOf(id, factsOf(id), withoutEmpty(input)), {
    ...patienceOf(id),
    ...options,
    headers: { ...attendance(), ...options.headers },
  })
}

/** What tells the server that a call is no use of the session, since nobody is at the page. */
function attendance(): Readonly<Record<string, string>> {
  return isAttended() ? {} : { 'x-console-unattended': '1' }
}

/** The server gives up first, and says so. In milliseconds. */
const laterMs = 10_000

/** How long an operation is waited for, where that is longer than usual. */
function patienceOf(id: OperationId): CallOptions {
  const slowMs = slowAnswerMs(id)
  return slowMs === undefined ? {} : { timeoutMs: slowMs + laterMs, attemptTimeoutMs: slowMs + laterMs }
}

/** Calls an endpoint of the console itself. */
export async function callConsole<Answer>(
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  signal?: AbortSignal,
  sent: Pick<CallRequest, 'query' | 'body'> = {},
): Promise<Answer> {
  return call<Answer>(consoleConnection, { method, path, ...sent }, { signal, headers: attendance() })
}

/** Downloads what an operation answers as a file. */
export async function download<Id extends OperationId>(
  id: Id,
  input: Operations[Id]['input'],
  fileName: string,
): Promise<void> {
  const answer: unknown = await callOperation(id, input, { timeoutMs: downloadMs, attemptTimeoutMs: downloadMs })
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2)]))
  link.download = fileName
  link.click()
  URL.revokeObjectURL(link.href)
}

const downloadMs = 60_000

/** The input without what is empty: a filter without a value is none. */
function withoutEmpty(input: unknown): Input {
  return Object.fromEntries(Object.entries(input ?? {}).filter(([, value]) => value !== '' && value !== undefined))
}
