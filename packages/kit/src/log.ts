import { type DestinationStream, type Logger, pino } from 'pino'

/** A structured log (pino). */
export type Log = Logger

const redacted = [
  'req.headers.authorization',
  'req.headers.cookie',
  'req.headers["x-api-key"]',
  '*.password',
  '*.client_secret',
  '*.access_token',
  '*.refresh_token',
]

/**
 * Creates a JSON log with the level as a word and the time in ISO 8601. Known members with secrets are redacted.
 *
 * @param level the lowest level that is written, such as `info`
 * @param destination where lines go. Default: standard output
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
    redact: { paths: redacted, censor: '[secret]' },
  }
  return destination ? pino(options, destination) : pino(options)
}

function describeError(error: Error): unknown {
  const described: unknown = pino.stdSerializers.err(error)
  return isDescribedError(described) ? withoutCommand(described) : described
}

/** An error of Redis has the command that failed, with its arguments: at a login these are the credentials. */
function withoutCommand(error: object): object {
  const members = Object.entries(error).filter(([name]) => name !== 'command')
  return Object.fromEntries(
    members.map(([name, value]) => [name, isDescribedError(value) ? withoutCommand(value) : value]),
  )
}

function isDescribedError(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'stack' in value
}

/** A log that writes nothing, for tests. */
export const silentLog: Log = pino({ level: 'silent' })
