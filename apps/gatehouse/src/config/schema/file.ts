import {
  defaultMaxGrant,
  defaultStreamsPerCaller,
  PolicyDeclaration,
  RouteDeclaration,
  TierDeclaration,
  UpstreamDeclaration,
} from '@gatehouse/gateway'
import {
  ClientDeclaration,
  ConnectionDeclaration,
  defaultHashCost,
  defaultLifetimes,
  defaultMinPasswordLength,
  type Lifetimes,
  lifetimeBounds,
  type MfaPolicy,
  mfaPolicies,
  minPasswordLengthBounds,
  OrganizationDeclaration,
  OrganizationRoleDeclaration,
  ResourceDeclaration,
  signingAlgorithms,
  UserDeclaration,
} from '@gatehouse/identity'
import { EventTypeDeclaration, RecipientDeclaration } from '@gatehouse/notify'
import { type Static, Type } from 'typebox'
import { Engines } from './engines.ts'
import { NotifySection } from './notify.ts'
import { Processes } from './processes.ts'
import { ProvidersSection } from './providers.ts'

const strict = { additionalProperties: false } as const

const lifetime = (name: keyof Lifetimes, description: string) => {
  const [minimum, maximum] = lifetimeBounds[name]
  return Type.Optional(Type.Integer({ minimum, maximum, default: defaultLifetimes[name], description }))
}

const onOff = Type.Union([Type.Literal('on'), Type.Literal('off'), Type.Boolean()], { default: 'on' })

const ApiKeyDeclaration = Type.Object(
  {
    id: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$',
      description: 'Who calls with it: the subject in logs, limits and the audit of changes.',
      examples: ['shop'],
    }),
    key_hash: Type.String({
      pattern: '^sha256:[0-9a-f]{64}$',
      description:
        'SHA-256 of the key: `printf %s "$KEY" | sha256sum`. The key itself has at least 32 random bytes (`openssl rand -hex 32`) and stands nowhere.',
    }),
    scopes: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
      uniqueItems: true,
      maxItems: 100,
      description: 'What it may do.',
      examples: [['write:notifications']],
    }),
    plan: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'The tier that limits it.' })),
  },
  strict,
)

/** The whole of `gatehouse.yaml`. */
export const FileSchema = Type.Object(
  {
    engines: Type.Optional(Engines),
    processes: Type.Optional(Processes),
    tiers: Type.Optional(
      Type.Record(Type.String(), TierDeclaration, {
        propertyNames: {
          pattern: '^[a-z][a-z0-9-]*$',
          description: 'Lower-case letters, digits and -, a letter first',
        },
        description: 'Limits by plan.',
      }),
    ),
    policies: Type.Optional(Type.Record(Type.String(), PolicyDeclaration, { description: 'Limits that routes name.' })),
    global_policy: Type.Optional(
      Type.String({
        description:
          'The policy by which every request is counted beside its tier and route, but on routes with the policy none; with `shared: true` a limit for all callers together.',
        examples: ['everybody'],
      }),
    ),
    max_limit_grant: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2 ** 31 - 1,
        description:
          'Requests that a caller with write:limit-grants may give back in one call; admin:limits has no bound.',
        default: defaultMaxGrant,
      }),
    ),
    trusted_proxies: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'CIDR ranges whose X-Forwarded-For is believed. Required where BASE_URL or AUTH_URL is https: [] says that nothing before this process adds the header.',
        examples: [['10.0.0.0/8']],
      }),
    ),
    dev_pages: Type.Optional(
      Type.Boolean({
        description:
          'Serves /dev/mailbox and /dev/inbox, which ask nobody who they are. Default: on the embedded database while HOST, BASE_URL and AUTH_URL are this machine alone. With true, whoever reaches this process reads all mail, links to new passwords too.',
      }),
    ),
    start_page: Type.Optional(
      Type.String({
        pattern: '^(/|/[^/\\\\].*|https?://[^/].*)$',
        maxLength: 2_000,
        description:
          'Where a request for / is redirected to: a path of this process or a URL. Default: the start page where the pages under /dev/ are served, else 404.',
        examples: ['https://example.com', '/account'],
      }),
    ),
    streams_per_caller: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description:
          'How many streams and WebSockets of upstreams one caller (user, client or, without a credential, address) may hold at a time, in one process; more are answered with 429.',
        default: defaultStreamsPerCaller,
      }),
    ),
    cors_origins: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^https?://[a-z0-9.-]+(:[0-9]{1,5})?$',
          description: 'Scheme, host in lower case, and port where it is not the usual one; no path, no *.',
        }),
        {
          maxItems: 100,
          uniqueItems: true,
          description: 'Origins whose pages may call the API under /v1/ from a browser, with a token. Default: none.',
          examples: [['https://app.example.com']],
        },
      ),
    ),
    ietf_rate_limit_fields: Type.Optional(
      Type.Boolean({
        description: 'Send the RateLimit fields of draft-ietf-httpapi-ratelimit-headers-11 too.',
        default: false,
      }),
    ),
    clients: Type.Optional(Type.Array(ClientDeclaration)),
    api_keys: Type.Optional(
      Type.Array(ApiKeyDeclaration, {
        description: 'Credentials of a process without an identity of ours, sent as X-API-Key.',
      }),
    ),
    users: Type.Optional(Type.Array(UserDeclaration)),
    resources: Type.Optional(Type.Array(ResourceDeclaration)),
    organization_roles: Type.Optional(Type.Array(OrganizationRoleDeclaration)),
    organizations: Type.Optional(Type.Array(OrganizationDeclaration)),
    connections: Type.Optional(
      Type.Array(ConnectionDeclaration, { description: 'Other identity providers that users sign in with.' }),
    ),
    access_token_signed_response_alg: Type.Optional(
      Type.Unsafe<(typeof signingAlgorithms)[number]>({
        type: 'string',
        enum: [...signingAlgorithms],
        description: 'What access tokens are signed with, unless the resource or the client says.',
        default: 'ES256',
      }),
    ),
    lifetimes: Type.Optional(
      Type.Object(
        {
          access_token_seconds: lifetime('accessToken', 'Access tokens.'),
          refresh_token_seconds: lifetime('refreshToken', 'Refresh tokens.'),
          id_token_seconds: lifetime('idToken', 'ID tokens.'),
          session_seconds: lifetime('session', 'A signed-in browser that is not used.'),
          max_session_seconds: lifetime('maxSession', 'The same since its login, however much it is used.'),
          signing_key_seconds: lifetime('signingKey', 'A signing key, before the next one takes over.'),
          audit_event_seconds: lifetime('auditEvent', 'Entries of the audit trail.'),
        },
        strict,
      ),
    ),
    passwords: Type.Optional(
      Type.Object(
        {
          min_length: Type.Optional(
            Type.Integer({
              minimum: minPasswordLengthBounds[0],
              maximum: minPasswordLengthBounds[1],
              default: defaultMinPasswordLength,
              description:
                'Fewest characters of a password that is set. NIST SP 800-63B-4 (3.1.1.2): 15 where it is the only factor, 8 where a second factor is required.',
            }),
          ),
          hash_memory_mib: Type.Optional(
            Type.Integer({
              minimum: defaultHashCost.memoryKiB / 1_024,
              maximum: 256,
              default: defaultHashCost.memoryKiB / 1_024,
              description:
                'MiB of memory that the hash of a password takes (argon2id). A stored hash of another cost is replaced at the next sign-in.',
            }),
          ),
          hash_passes: Type.Optional(
            Type.Integer({
              minimum: defaultHashCost.passes,
              maximum: 10,
              default: defaultHashCost.passes,
              description: 'How often the hash of a password passes over that memory.',
            }),
          ),
        },
        strict,
      ),
    ),
    branding: Type.Optional(
      Type.Object(
        {
          name: Type.Optional(Type.String({ description: "The product's name, on every page." })),
          logo_url: Type.Optional(
            Type.String({
              pattern: '^https://',
              description: 'A logo, about 40 pixels high.',
              examples: ['https://example.com/logo.svg'],
            }),
          ),
          colour: Type.Optional(
            Type.String({ pattern: '^#[0-9a-fA-F]{6}$', description: 'Of buttons and links.', examples: ['#1f5fbf'] }),
          ),
          colour_dark: Type.Optional(
            Type.String({
              pattern: '^#[0-9a-fA-F]{6}$',
              description: 'The same in dark surroundings.',
              examples: ['#8ab4f8'],
            }),
          ),
          texts: Type.Optional(
            Type.String({ description: 'A folder of <locale>.json files with texts of the pages, from this file.' }),
          ),
        },
        { ...strict, description: 'How the pages for people look.' },
      ),
    ),
    features: Type.Optional(
      Type.Object(
        {
          registration: Type.Optional(
            Type.Boolean({ description: 'People may make accounts themselves.', default: false }),
          ),
          password_reset: Type.Optional(
            Type.Boolean({ description: 'People may choose a new password by a mailed link.' }),
          ),
          passkeys: Type.Optional(
            Type.Boolean({
              description:
                'People may sign in with passkeys. Default: true where AUTH_URL is https or localhost, and no IP address.',
            }),
          ),
          email_code: Type.Optional(
            Type.Boolean({ description: 'People may sign in with a code that is mailed to them.', default: false }),
          ),
        },
        strict,
      ),
    ),
    mfa: Type.Optional(
      Type.Unsafe<MfaPolicy>({
        type: 'string',
        enum: [...mfaPolicies],
        default: 'off',
        description:
          'Whether users may (optional) or must (required) sign in with a second factor. A user who has one is always asked for it.',
      }),
    ),
    recipients: Type.Optional(Type.Array(RecipientDeclaration)),
    event_types: Type.Optional(Type.Array(EventTypeDeclaration)),
    templates: Type.Optional(
      Type.String({ description: 'The folder of templates, from this file.', examples: ['./templates'] }),
    ),
    notify: Type.Optional(NotifySection),
    providers: Type.Optional(ProvidersSection),
    channels: Type.Optional(
      Type.Object(
        { email: Type.Optional(onOff), push: Type.Optional(onOff), sms: Type.Optional(onOff) },
        { ...strict, description: 'Channels that are off carry nothing.' },
      ),
    ),
    upstreams: Type.Optional(
      Type.Record(Type.String(), UpstreamDeclaration, { description: 'Your services behind the gateway.' }),
    ),
    routes: Type.Optional(
      Type.Array(RouteDeclaration, { description: 'Which path is whose, and who may. The first that fits is taken.' }),
    ),
  },
  { ...strict, title: 'Gatehouse', description: 'Everything a Gatehouse declares.' },
)
/** The content of `gatehouse.yaml`. */
export type File = Static<typeof FileSchema>
