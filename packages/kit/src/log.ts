import { type DestinationStream, type Logger, pino } from 'pino'

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

/** A JSON log with its level as a word and its time in ISO 8601. Known places of secrets are redacted. */
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

/** A log that keeps nothing, for tests. */
export const silentLog: Log = pino({ level: 'silent' })
