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
    redact: { paths: redacted, censor: '[secret]' },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** A log that writes nothing, for tests. */
export const silentLog: Log = pino({ level: 'silent' })
