import { Type } from 'typebox'

/** Option `timeout_seconds`: the maximum duration of an HTTP call to the provider. */
export const timeoutSeconds = Type.Optional(
  Type.Number({
    minimum: 0.1,
    maximum: 20,
    description: 'Maximum duration of a call, in seconds. A call without a response by then is retried.',
    default: 10,
  }),
)

/** Option `from` of email providers: the sender. */
export const from = Type.Optional(
  Type.String({ description: 'The sender. Default: MAIL_FROM.', examples: ['Example <hello@example.com>'] }),
)

/** Option `connections` of push providers over HTTP/2. */
export const http2Connections = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 32,
    description: 'Maximum number of connections; each carries many pushes.',
    default: 4,
  }),
)

/** Four weeks, in seconds: as long as FCM keeps a message. */
export const maxTtlSeconds = 2_419_200

/** Option `ttl_seconds` of push providers: how long a push waits for its device. */
export const ttlSeconds = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: maxTtlSeconds,
    description: 'How long a push waits for a device that is offline, in seconds. 0: deliver now or never.',
    default: maxTtlSeconds,
  }),
)
