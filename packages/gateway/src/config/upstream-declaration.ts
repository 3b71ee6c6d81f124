import Type, { type Static } from 'typebox'

const milliseconds = (description: string, fallback: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 3_600_000, description, default: fallback }))

/** How an upstream is reached, as the configuration declares it. */
export const UpstreamDeclaration = Type.Object(
  {
    url: Type.String({
      pattern: '^https?://',
      description: 'Its address; a base path goes before every path.',
      examples: ['http://orders:8080'],
    }),
    strip_prefix: Type.Optional(
      Type.String({ pattern: '^/.*[^/]$', description: 'Taken off the front of the path.', examples: ['/orders'] }),
    ),
    forward_token: Type.Optional(
      Type.Boolean({ description: "Passes the caller's own token or API key on.", default: false }),
    ),
    connections: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, description: 'The most connections held to it.', default: 64 }),
    ),
    connect_timeout_ms: milliseconds('How long a connection may take to be made.', 1_000),
    headers_timeout_ms: milliseconds("How long the answer's headers may be awaited.", 30_000),
    body_timeout_ms: milliseconds("How long the answer's body may pause.", 30_000),
    request_timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 86_400_000,
        description:
          "How long the request's body may take in all; one that comes slower than 500 bytes a second after the first 20 seconds is refused before.",
        default: 3_600_000,
      }),
    ),
    breaker_failures: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000,
        description: 'Requests in a row without any answer after which it is spared for a while; 0 for never.',
        default: 5,
      }),
    ),
    breaker_open_ms: milliseconds(
      'How long it is spared at first; doubles with every failed probe, up to 30 s.',
      1_000,
    ),
    websockets_at_expiry: Type.Optional(
      Type.Union([Type.Literal('close'), Type.Literal('keep')], {
        description: 'What becomes of a WebSocket when the credential that opened it expires or is revoked.',
        default: 'close',
      }),
    ),
    streams_at_expiry: Type.Optional(
      Type.Union([Type.Literal('close'), Type.Literal('keep')], {
        description:
          'What becomes of an answer that is still under way when the credential that asked for it expires or is revoked.',
        default: 'close',
      }),
    ),
    retries: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 5,
        description: 'How often a safe request without a body is sent again when its connection fails.',
        default: 1,
      }),
    ),
  },
  { additionalProperties: false },
)
export type UpstreamDeclaration = Static<typeof UpstreamDeclaration>
