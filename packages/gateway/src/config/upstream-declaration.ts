import Type, { type Static } from 'typebox'

const milliseconds = (description: string, fallback: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 3_600_000, description, default: fallback }))

/** How an upstream is reached, as the configuration declares it. */
export const UpstreamDeclaration = Type.Object(
  {
    url: Type.String({
      pattern: '^https?://',
      description: 'Its address, which begins with http:// or https://; a base path is prepended to every path.',
      examples: ['http://orders:8080'],
    }),
    strip_prefix: Type.Optional(
      Type.String({ pattern: '^/.*[^/]$', description: 'Removed from the front of the path.', examples: ['/orders'] }),
    ),
    forward_token: Type.Optional(
      Type.Boolean({ description: "Forwards the caller's token or API key.", default: false }),
    ),
    connections: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, description: 'Maximum of connections to it.', default: 64 }),
    ),
    connect_timeout_ms: milliseconds('Timeout of a new connection.', 1_000),
    headers_timeout_ms: milliseconds("Timeout of the response's headers.", 30_000),
    body_timeout_ms: milliseconds("Maximum pause in the response's body.", 30_000),
    request_timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 86_400_000,
        description:
          "How long the request's body may take in all; a body slower than 500 bytes a second after the first 20 seconds is refused earlier.",
        default: 3_600_000,
      }),
    ),
    breaker_failures: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000,
        description: 'Consecutive requests without an answer after which the breaker opens; 0 for never.',
        default: 5,
      }),
    ),
    breaker_open_ms: milliseconds(
      'How long the breaker stays open at first; doubles with every failed probe, up to 30 s.',
      1_000,
    ),
    websockets_at_expiry: Type.Optional(
      Type.Union([Type.Literal('close'), Type.Literal('keep')], {
        description: 'What happens to a WebSocket when its credential expires or is revoked.',
        default: 'close',
      }),
    ),
    streams_at_expiry: Type.Optional(
      Type.Union([Type.Literal('close'), Type.Literal('keep')], {
        description: 'What happens to an unfinished response when its credential expires or is revoked.',
        default: 'close',
      }),
    ),
    retries: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 5,
        description: 'How often a safe request without a body is retried when its connection fails.',
        default: 1,
      }),
    ),
  },
  { additionalProperties: false },
)
/** The type of {@link UpstreamDeclaration}. */
export type UpstreamDeclaration = Static<typeof UpstreamDeclaration>
