import type { Secret } from '@gatehouse/kit'
import { isLoopback } from '../config/loopback.ts'
import { requestsOverPlan, tourist } from '../config/tour.ts'

/** Something the first run created that its operator has to know of. */
export interface Seeded {
  readonly kind: 'user' | 'client'
  readonly id: string
  readonly secret?: Secret
  readonly detail: string
}

/** What the banner prints about the started program. */
export interface BannerOptions {
  readonly version: string
  readonly baseUrl: string
  readonly authUrl: string
  /** Where this process listens. */
  readonly host: string
  readonly port: number
  readonly services: readonly string[]
  readonly milliseconds: number
  /** Worker processes that share the port; 1 is this process alone. */
  readonly processes: number
  /** What the data lies in, in words. */
  readonly database: string
  readonly counters: string
  readonly mailbox: boolean
  readonly devInbox: boolean
  /** Whether the file serves the pages under /dev/ to whoever reaches this process. */
  readonly devPagesForAll: boolean
  /** Where metrics are served without a credential. */
  readonly metricsUrl: string | undefined
  /** Where the admin console is, where it runs. */
  readonly consoleUrl?: string | undefined
  readonly seeded: readonly Seeded[]
  /** The API key of this start, where nothing else opens the process and only this machine reaches it. */
  readonly developmentKey?: Secret | undefined
  /** Whether the file still declares the client, the user and the event that the lines to paste speak of. */
  readonly tour: boolean
}

/** What the program prints once it is ready: where everything is, what was seeded, and lines that work when pasted. */
export function banner(options: BannerOptions): string {
  const { baseUrl, services } = options
  const place = placeOf(options)
  const seconds = (options.milliseconds / 1000).toFixed(1)
  const lines = [
    `Gatehouse ${options.version} is ready after ${seconds} s at ${place} (${services.join(', ')})`,
    '',
    ...(options.processes > 1 ? [row('Processes', `${options.processes} workers share the port`)] : []),
    row('Data', options.database),
    row('Counters', options.counters),
    ...(options.devPagesForAll ? [row('WARNING', openPages)] : []),
    ...(options.consoleUrl ? [row('Console', `${options.consoleUrl} is for administrators`)] : []),
    ...(options.mailbox
      ? [row('Mailbox', `${baseUrl}/dev/mailbox shows messages of channels without a provider`)]
      : []),
    ...(options.devInbox ? [row('Inbox', `${baseUrl}/dev/inbox is the in-app inbox of alice, live`)] : []),
    row('API', `${place}/docs, ${place}/openapi.json`),
    row('Operations', `${place}/healthz, ${place}/readyz, ${options.metricsUrl ?? `${place}/metrics`}`),
    ...(services.includes('identity') ? [row('OpenID', `${options.authUrl}/.well-known/openid-configuration`)] : []),
    ...seededLines(options.seeded),
    ...keyLines(options),
    ...tryLines(options),
  ]
  return `${lines.join('\n')}\n`
}

/** Where this process answers: without the gateway `baseUrl` may be another one. */
function placeOf({ baseUrl, host, port, services }: BannerOptions): string {
  if (services.includes('gateway')) return baseUrl
  const isHere = isLoopback(host) || host === '0.0.0.0' || host === '::'
  return `http://${isHere ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`
}

const openPages =
  'DEV_PAGES ARE ON FOR EVERYBODY (dev_pages: true): WHOEVER REACHES THIS PROCESS READS ALL MAIL AND TAKES OVER ACCOUNTS'

const row = (name: string, text: string): string => `  ${name.padEnd(11)} ${text}`

/** What the first run made, with its secrets, this once. */
function seededLines(seeded: readonly Seeded[]): string[] {
  if (seeded.length === 0) return []
  const lines = seeded.map(({ kind, id, secret, detail }) => {
    const shown = secret ? `${kind === 'user' ? 'password' : 'secret'} ${secret.reveal()}  ` : ''
    return row(kind, `${id}  ${shown}(${detail})`)
  })
  return ['', 'First run. These are shown once, keep them:', ...lines]
}

/** Prints what the first run made where the start fails after it: no other start shows it again. */
export function printSeeded(seeded: readonly Seeded[]): void {
  if (seeded.length > 0) process.stdout.write(`${seededLines(seeded).join('\n')}\n`)
}

function keyLines({ developmentKey }: BannerOptions): string[] {
  if (!developmentKey) return []
  const what = 'an API key of this start: without identity, ISSUER and api_keys nothing else gets in'
  return ['', row('key', `${developmentKey.reveal()}  (${what})`)]
}

const tokenOnly = `sed -E 's/.*"access_token":"([^"]+)".*/\\1/'`
const idOnly = `sed -E 's/.*"id":"([^"]+)","deliveries".*/\\1/'`

/** Each on one line; the variables of one are used by the next. */
function tryLines(options: BannerOptions): string[] {
  if (!options.tour) return []
  if (options.services.includes('identity')) return tokenLines(options)
  return options.developmentKey ? linesWithKey(options, options.developmentKey) : []
}

const tourEvent = {
  event: tourist.event,
  user_id: tourist.user,
  data: { order_id: 'A-1', item: 'a red bicycle', tracking_url: 'https://shop.example/track/A-1' },
}

/** What notifies, with a header that says who asks; keeps the id. */
const notifyLine = (baseUrl: string, credential: string): string =>
  `ID=$(curl -s ${baseUrl}/v1/notify -H "${credential}" -H 'Content-Type: application/json' -d '${JSON.stringify(tourEvent)}' | tee /dev/stderr | ${idOnly})`

/** More requests than the plan has in a minute: the statuses, and what the last answer says. */
const limitLine = (baseUrl: string, credential: string, requests: number): string =>
  `for n in $(seq ${requests}); do curl -s -o /dev/null -w '%{http_code} ' -H "${credential}" ${baseUrl}/admin/v1/limits; done; echo; curl -si -H "${credential}" ${baseUrl}/admin/v1/limits | head -20`

function linesWithKey({ baseUrl, services, mailbox }: BannerOptions, key: Secret): string[] {
  const credential = 'X-API-Key: $KEY'
  const notify = [
    notifyLine(baseUrl, credential),
    `curl -s ${baseUrl}/v1/notifications/$ID -H "${credential}"`,
    ...(mailbox ? [`curl -s ${baseUrl}/dev/mailbox -H 'Accept: application/json'`] : []),
  ]
  const [notifies, limits] = [services.includes('notify'), services.includes('gateway')]
  const sections = [
    ...(notifies ? ['a notification, what became of it, and what was sent'] : []),
    ...(limits ? ['requests past the limit'] : []),
  ]
  return [
    '',
    `Try it: ${sections.join('; ')}:`,
    `KEY=${key.reveal()}`,
    ...(notifies ? notify : []),
    ...(limits ? [limitLine(baseUrl, credential, requestsOverPlan.key)] : []),
  ]
}

function tokenLines({ baseUrl, authUrl, services, seeded }: BannerOptions): string[] {
  const secret = seeded.find(({ kind, id }) => kind === 'client' && id === tourist.client)?.secret
  const user = `${tourist.client}:${secret?.reveal() ?? 'THE-SECRET-SHOWN-AT-THE-FIRST-RUN'}`
  const credential = 'Authorization: Bearer $TOKEN'
  const lines = [
    `TOKEN=$(curl -s ${authUrl}/token -u '${user}' -d grant_type=client_credentials | ${tokenOnly})`,
    `curl -s ${baseUrl}/users/${tourist.user} -H "Authorization: Bearer $TOKEN"`,
  ]
  if (services.includes('notify')) {
    lines.splice(
      1,
      0,
      notifyLine(baseUrl, credential),
      `curl -s ${baseUrl}/v1/notifications/$ID -H "Authorization: Bearer $TOKEN"`,
    )
  }
  if (services.includes('notify'))
    return ['', 'Try it: a token, a notification, what became of it, and the user it went to:', ...lines]
  if (!services.includes('gateway')) return ['', 'Try it: a token, and the plan of a user:', ...lines]
  return [
    '',
    'Try it: a token, the plan of a user, and requests past the limit:',
    ...lines,
    limitLine(baseUrl, credential, requestsOverPlan.client),
  ]
}
