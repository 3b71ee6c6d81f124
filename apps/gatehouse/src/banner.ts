import type { Secret } from '@gatehouse/kit'
import { tourist } from './tour.ts'

/** Something the first run created that its operator has to know of. */
export interface Seeded {
  readonly kind: 'user' | 'client'
  readonly id: string
  readonly secret?: Secret
  readonly detail: string
}

export interface BannerOptions {
  readonly version: string
  readonly baseUrl: string
  readonly authUrl: string
  readonly services: readonly string[]
  readonly milliseconds: number
  /** What the data lies in, in words. */
  readonly database: string
  readonly counters: string
  readonly mailbox: boolean
  readonly devInbox: boolean
  /** Whether the file serves the pages under /dev/ to whoever reaches this process. */
  readonly devPagesForAll: boolean
  /** Where metrics are served without a credential. */
  readonly metricsUrl: string | undefined
  readonly seeded: readonly Seeded[]
  /** Whether the file still declares the client, the user and the event that the lines to paste speak of. */
  readonly tour: boolean
}

/** What the program prints once it is ready: where everything is, what was seeded, and lines that work when pasted. */
export function banner(options: BannerOptions): string {
  const { baseUrl, services } = options
  const seconds = (options.milliseconds / 1000).toFixed(1)
  const lines = [
    `Gatehouse ${options.version} is ready after ${seconds} s at ${baseUrl} (${services.join(', ')})`,
    '',
    row('Data', options.database),
    row('Counters', options.counters),
    ...(options.devPagesForAll ? [row('WARNING', openPages)] : []),
    ...(options.mailbox ? [row('Mail', `${baseUrl}/dev/mailbox shows what was sent on every channel`)] : []),
    ...(options.devInbox ? [row('Inbox', `${baseUrl}/dev/inbox is the in-app inbox of alice, live`)] : []),
    row('API', `${baseUrl}/docs, ${baseUrl}/openapi.json`),
    row('Operations', `${baseUrl}/healthz, ${baseUrl}/readyz, ${options.metricsUrl ?? `${baseUrl}/metrics`}`),
    ...(services.includes('identity') ? [row('OpenID', `${options.authUrl}/.well-known/openid-configuration`)] : []),
    ...seededLines(options.seeded),
    ...tryLines(options),
  ]
  return `${lines.join('\n')}\n`
}

const openPages =
  'DEV_PAGES ARE ON FOR EVERYBODY (dev_pages: true): WHOEVER REACHES THIS PROCESS READS ALL MAIL AND TAKES OVER ACCOUNTS'

const row = (name: string, text: string): string => `  ${name.padEnd(11)} ${text}`

/** What the first run made, with its secrets, this once. */
export function seededLines(seeded: readonly Seeded[]): string[] {
  if (seeded.length === 0) return []
  const lines = seeded.map(({ kind, id, secret, detail }) => {
    const shown = secret ? `${kind === 'user' ? 'password' : 'secret'} ${secret.reveal()}  ` : ''
    return row(kind, `${id}  ${shown}(${detail})`)
  })
  return ['', 'First run. These are shown once, keep them:', ...lines]
}

const tokenOnly = `sed -E 's/.*"access_token":"([^"]+)".*/\\1/'`
const idOnly = `sed -E 's/.*"id":"([^"]+)","deliveries".*/\\1/'`

/** Each on one line; the variables of one are used by the next. */
function tryLines({ baseUrl, authUrl, services, seeded, tour }: BannerOptions): string[] {
  if (!tour || !services.includes('identity')) return []
  const secret = seeded.find(({ kind, id }) => kind === 'client' && id === tourist.client)?.secret
  const user = `${tourist.client}:${secret?.reveal() ?? 'THE-SECRET-SHOWN-AT-THE-FIRST-RUN'}`
  const event = {
    event: tourist.event,
    user_id: tourist.user,
    data: { order_id: 'A-1', item: 'a red bicycle', tracking_url: 'https://shop.example/track/A-1' },
  }
  const lines = [
    `TOKEN=$(curl -s ${authUrl}/token -u '${user}' -d grant_type=client_credentials | ${tokenOnly})`,
    `curl -s ${baseUrl}/users/${tourist.user} -H "Authorization: Bearer $TOKEN"`,
  ]
  if (services.includes('notify')) {
    lines.splice(
      1,
      0,
      `ID=$(curl -s ${baseUrl}/v1/notify -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${JSON.stringify(event)}' | tee /dev/stderr | ${idOnly})`,
      `curl -s ${baseUrl}/v1/notifications/$ID -H "Authorization: Bearer $TOKEN"`,
    )
  }
  return ['', 'Try it: a token, a notification, what became of it, and the user it went to:', ...lines]
}
