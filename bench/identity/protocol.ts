/** What a candidate gets at its start. */
export interface Start {
  readonly database?: string
  readonly algorithm?: 'ES256' | 'RS256'
  /** How many refresh tokens to begin with. */
  readonly families: number
  /** How many other identity providers the sign-in page offers. Default: none. */
  readonly providers?: number
}

/** What it answers once it listens, and to each question after that. */
export interface Ready {
  readonly url: string
  readonly refreshTokens: readonly string[]
}

export const client = { id: 'racer', secret: 'racer-secret-0123456789' }
export const web = { id: 'web', secret: 'web-secret-0123456789ab', callback: 'https://app.example/callback' }
export const audience = 'https://api.example'
export const scope = 'read:users'

export function startOf(): Start {
  return JSON.parse(process.argv[2] ?? '{}')
}

/** Sends the address, then answers each message with the processor time since the last one, in microseconds. */
export function report(ready: Ready): void {
  let before = process.cpuUsage()
  process.on('message', () => {
    const { user, system } = process.cpuUsage(before)
    before = process.cpuUsage()
    process.send?.(user + system)
  })
  process.on('disconnect', () => process.exit())
  process.send?.(ready)
}
