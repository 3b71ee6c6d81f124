import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { type Behaviour, createScript, type Fake } from '../fake.ts'
import { type FakeAnswer, type FakeRequest, type Seen, startHttpFake } from '../server/http-server.ts'
import { readJwt } from '../server/jwt.ts'

export interface FcmFakeSettings {
  readonly port?: number
  /** The lifetime of the access tokens it gives, in seconds. Default 3600. */
  readonly tokenSeconds?: number
}

export interface FcmMessage {
  readonly token: string
  readonly notification?: { readonly title?: string; readonly body?: string }
  readonly data?: Readonly<Record<string, string>>
  readonly android?: { readonly priority?: string; readonly notification?: { readonly tag?: string } }
  readonly apns?: { readonly headers?: Readonly<Record<string, string>> }
  readonly [member: string]: unknown
}

export interface FcmFake extends Fake<FcmMessage> {
  /** The JSON of a service account that this fake knows. */
  readonly serviceAccount: string
  /** Connections that pushes came over so far. */
  connections(): number
  /** How many access tokens it gave. */
  tokensIssued(): number
  /** Refuses the access tokens that it gave so far. */
  revokeTokens(): void
  /** As answerNext, of the OAuth endpoint. */
  answerNextToken(behaviour: Behaviour, times?: number): void
}

const projectId = 'fake-project'
const clientEmail = 'gatehouse@fake-project.iam.gserviceaccount.com'
const scope = 'https://www.googleapis.com/auth/firebase.messaging'
const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const maxPayloadBytes = 4_096

/** FCM's HTTP v1, over HTTP/2, and Google's token endpoint at an address of its own. */
export async function startFcm({ port, tokenSeconds = 3_600 }: FcmFakeSettings = {}): Promise<FcmFake> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const tokens = new Map<string, number>()
  const tokenScript = createScript()
  let issued = 0
  const giveToken = (): FakeAnswer => {
    const token = `ya29.${randomUUID()}`
    issued += 1
    tokens.set(token, Date.now() + tokenSeconds * 1_000)
    return { status: 200, body: { access_token: token, expires_in: tokenSeconds, token_type: 'Bearer' } }
  }
  const seeGrant = (request: FakeRequest): Seen<FcmMessage> => {
    const why = faultOfGrant(request, publicKey, `${oauth.url}/token`)
    if (why) return refuse(400, 'invalid_grant', why, { error: 'invalid_grant', error_description: why })
    const behaviour = tokenScript.next()
    return behaviour === undefined
      ? { kind: 'aside', answer: giveToken() }
      : { kind: 'aside', answer: { status: 200 }, behaviour }
  }
  const common = {
    gone: { status: 404, body: errorBody(404, 'NOT_FOUND', 'Requested entity was not found.', 'UNREGISTERED') },
    troubled: (status: number) => errorBody(status, statuses[status] ?? 'UNKNOWN', `configured to answer ${status}`),
  }
  const fake = await startHttpFake<FcmMessage>({
    ...common,
    kind: 'fcm',
    http2: true,
    ...(port === undefined ? {} : { port }),
    see: (request) => seeSend(request, tokens),
  })
  const oauth = await startHttpFake<FcmMessage>({ ...common, kind: 'oauth', see: seeGrant })
  return {
    ...fake,
    get refusals() {
      return [...oauth.refusals, ...fake.refusals]
    },
    async stop() {
      await Promise.all([fake.stop(), oauth.stop()])
    },
    serviceAccount: JSON.stringify({
      type: 'service_account',
      project_id: projectId,
      private_key_id: 'fake-key',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      client_email: clientEmail,
      token_uri: `${oauth.url}/token`,
    }),
    tokensIssued: () => issued,
    revokeTokens: () => tokens.clear(),
    answerNextToken: (behaviour, times) => tokenScript.enqueue(behaviour, times),
  }
}

const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

function faultOfGrant({ method, body }: FakeRequest, key: KeyObject, audience: string): string | undefined {
  const form = new URLSearchParams(body.toString('utf8'))
  if (method !== 'POST' || form.get('grant_type') !== grant) return `grant_type must be ${grant}`
  const jwt = readJwt(form.get('assertion') ?? '', 'RS256', key)
  if (!jwt) return 'Invalid JWT Signature.'
  const { iss, scope: requestedScope, aud, iat, exp } = jwt.claims
  if (iss !== clientEmail) return 'Invalid grant: account not found'
  if (requestedScope !== scope) return 'Invalid OAuth scope or ID token audience provided.'
  if (aud !== audience) return 'Invalid audience.'
  const now = Date.now() / 1_000
  const inTime = typeof iat === 'number' && typeof exp === 'number' && iat <= now + 60 && exp > now
  if (!inTime || exp > iat + 3_600) return 'Invalid JWT: iat and exp must be within a reasonable timeframe.'
  return undefined
}

function seeSend({ method, path, headers, body }: FakeRequest, tokens: ReadonlyMap<string, number>): Seen<FcmMessage> {
  if (method !== 'POST' || path !== `/v1/projects/${projectId}/messages:send`)
    return refuse(404, 'NOT_FOUND', `nothing is at ${method} ${path}`)
  const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
  if ((tokens.get(token) ?? 0) <= Date.now())
    return refuse(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')
  if (!headers['content-type']?.startsWith('application/json')) return refuse(400, 'INVALID_ARGUMENT', 'not JSON')
  return seeMessage(body)
}

function seeMessage(body: Buffer): Seen<FcmMessage> {
  const request = parsed(body)
  if (!request) return refuse(400, 'INVALID_ARGUMENT', 'Invalid JSON payload received.')
  const unknown = unknownMembers(request, shape)
  if (unknown.length > 0)
    return invalid(unknown.map((field) => [field, `Invalid JSON payload received. Unknown name "${field}"`]))
  const message = request.message as FcmMessage
  if (typeof message?.token !== 'string' || !message.token) return invalid([['message.token', 'No recipient given']])
  if (Object.values(message.data ?? {}).some((value) => typeof value !== 'string'))
    return invalid([['message.data', 'Invalid value: data must be text']])
  if (/\s/.test(message.token)) return invalidArgument('The registration token is not a valid FCM registration token')
  const payload = JSON.stringify(message.data ?? {}) + JSON.stringify(message.notification ?? {})
  if (Buffer.byteLength(payload) > maxPayloadBytes + 256) return invalidArgument('Android message is too big')
  const name = `projects/${projectId}/messages/0:${Date.now()}%${randomUUID()}`
  return { kind: 'message', message, answer: { status: 200, body: { name } } }
}

/** The members that FCM knows; text stands for a value that is taken as it is. */
const shape = {
  validate_only: 'any',
  message: {
    name: 'any',
    token: 'any',
    topic: 'any',
    condition: 'any',
    data: 'any',
    notification: { title: 'any', body: 'any', image: 'any' },
    android: {
      collapse_key: 'any',
      priority: 'any',
      ttl: 'any',
      restricted_package_name: 'any',
      data: 'any',
      notification: 'any',
      fcm_options: 'any',
      direct_boot_ok: 'any',
    },
    webpush: { headers: 'any', data: 'any', notification: 'any', fcm_options: 'any' },
    apns: { headers: 'any', payload: 'any', fcm_options: 'any', live_activity_token: 'any' },
    fcm_options: { analytics_label: 'any' },
  },
} as const

type Shape = 'any' | { readonly [member: string]: Shape }

function unknownMembers(value: unknown, known: Shape, path: string = ''): string[] {
  if (known === 'any' || typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const next = known[name]
    const place = path ? `${path}.${name}` : name
    return next === undefined ? [place] : unknownMembers(inner, next, place)
  })
}

function parsed(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function invalid(violations: ReadonlyArray<readonly [field: string, description: string]>): Seen<FcmMessage> {
  const why = violations.map(([, description]) => description).join('; ')
  const details = [
    {
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: violations.map(([field, description]) => ({ field, description })),
    },
  ]
  return refuse(400, 'INVALID_ARGUMENT', why, {
    error: { code: 400, message: why, status: 'INVALID_ARGUMENT', details },
  })
}

/** As FCM itself refuses a message, without the field that is wrong. */
function invalidArgument(why: string): Seen<FcmMessage> {
  return refuse(400, 'INVALID_ARGUMENT', why, errorBody(400, 'INVALID_ARGUMENT', why, 'INVALID_ARGUMENT'))
}

function refuse(status: number, code: string, why: string, body: unknown = errorBody(status, code, why)) {
  return { kind: 'refused', why: `${code}: ${why}`, answer: { status, body } } satisfies Seen<FcmMessage>
}

function errorBody(code: number, status: string, message: string, errorCode?: string) {
  const details = errorCode && [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }]
  return { error: { code, message, status, ...(details ? { details } : {}) } }
}
