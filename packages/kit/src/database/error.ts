/** The SQLSTATE of a database error, `23505` for a unique violation; undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** A part of the database is unavailable, and callers may know why. */
export class DatabasePartUnavailable extends Error {
  /** SQLSTATE of a connection that failed. */
  readonly code = '08006'
  /** What a caller reads: a sentence without its full stop, which names no address. */
  readonly reason: string

  /** `message` is for operators. */
  constructor(message: string, reason: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/**
 * SQLSTATEs of a database that is unavailable or overloaded: connection exceptions (08), operator intervention such as
 * a shutdown or a statement that ran out of time (57), resources such as connections or disk (53), I/O (58), a lock that
 * was not acquired in time (55P03), a transaction that stood idle too long (25P03), a standby (25006).
 */
const unavailableStates = /^(08|53|57|58|55P03$|25P03$|25006$)/

/** Codes of Node's sockets and resolver. */
const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Of a Unix socket: its server is away, or accepts no more for now. Anywhere else they say nothing of a database. */
const unavailableSocketCodes = new Set(['ENOENT', 'EAGAIN'])

/** What node-postgres says in words alone. */
const unavailableMessages = /^(Connection terminated|timeout exceeded|Query read timeout)|not queryable/

/** Whether an error says that the database is unavailable for now: the same statement can succeed later. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isUnavailable)
  const { code, syscall, message } = (error ?? {}) as { code?: unknown; syscall?: unknown; message?: unknown }
  if (typeof code === 'string' && unavailableCodes.has(code)) return true
  if (typeof code === 'string' && syscall === 'connect' && unavailableSocketCodes.has(code)) return true
  return unavailableStates.test(sqlState(error) ?? '') || unavailableMessages.test(String(message))
}

/** Whether a statement fails for its values however often it runs: data exceptions (22), constraints (23). */
export function isRefusedValue(error: unknown): boolean {
  return /^(22|23)/.test(sqlState(error) ?? '')
}

/** Whether the database did not answer in time; the connection is then of no further use. */
export function isSilent(error: unknown): boolean {
  return /^Query read timeout/.test(String((error as { message?: unknown } | undefined)?.message))
}

/** Codes of Node for what a program did, such as `ERR_INVALID_ARG_TYPE`; those of the system, `ENOSPC`, are not among them. */
const programCode = /^ERR_/

/**
 * Whether the processed item may be the cause of an error: its values were rejected (SQLSTATE 22, 23, 54), or the
 * program failed on them. Errors of the environment are not: an unavailable, locked or changed database, a socket, a
 * disk, a timeout, a response such as 429 or 503.
 */
export function isFaultOfInput(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isFaultOfInput)
  if (isUnavailable(error) || !(error instanceof Error)) return false
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return false
  const { code, status } = error as { code?: unknown; status?: unknown }
  if (typeof status === 'number') return status < 429
  if (typeof code !== 'string') return true
  return /^(22|23|54)/.test(sqlState(error) ?? '') || programCode.test(code)
}
