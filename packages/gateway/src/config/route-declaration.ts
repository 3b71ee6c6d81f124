import Type, { type Static } from 'typebox'
import type { RouteRule } from '../model/route-rule.ts'

/** The requirements of one path, as the configuration declares them. */
export const RouteDeclaration = Type.Object(
  {
    path: Type.String({
      pattern: '^/',
      description: 'A path template that begins with /; a trailing * matches the rest of the path.',
      examples: ['/orders/{id}', '/orders/*'],
    }),
    methods: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Z]+$', description: 'A method in capitals.', examples: ['GET'] }), {
        minItems: 1,
        description: 'Default: every method.',
      }),
    ),
    public: Type.Optional(
      Type.Boolean({
        description: 'Credentials are neither required nor read; requests count by IP address.',
        default: false,
      }),
    ),
    scope: Type.Optional(
      Type.String({ description: 'Scope names, all of which are required.', examples: ['read:orders'] }),
    ),
    roles: Type.Optional(
      Type.Array(Type.String(), { minItems: 1, description: 'Role names, one of which is required.' }),
    ),
    require_acr: Type.Optional(
      Type.String({
        pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,256}$',
        description:
          "The class of the user's sign-in (acr) that is required, or a stronger one: else 401 with the challenge of RFC 9470. API keys and clients' own tokens are refused.",
        examples: ['urn:gatehouse:acr:mfa'],
      }),
    ),
    max_age_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31_536_000,
        description:
          "The maximum age of the user's sign-in, compared at each request: else 401 with the challenge of RFC 9470. API keys and clients' own tokens are refused.",
        examples: [300],
      }),
    ),
    policy: Type.Optional(
      Type.String({
        description: "A policy beside the caller's tier: a request counts by both or by neither. none for no limit.",
        examples: ['search'],
      }),
    ),
    tier: Type.Optional(
      Type.Boolean({
        description:
          "Whether the caller's tier counts beside `policy`; false replaces it with the policy. Default: true, but false where `public` is true.",
      }),
    ),
    upstream: Type.Optional(
      Type.String({
        description: 'The upstream that serves it. Default: a service of Gatehouse.',
        examples: ['orders'],
      }),
    ),
  },
  { additionalProperties: false },
)
/** The type of {@link RouteDeclaration}. */
export type RouteDeclaration = Static<typeof RouteDeclaration>

/** The rule that a declaration stands for. */
export function routeRuleOf({
  require_acr: requireAcr,
  max_age_seconds: maxAgeSeconds,
  ...rule
}: RouteDeclaration): RouteRule {
  return {
    ...rule,
    ...(requireAcr === undefined ? {} : { requireAcr }),
    ...(maxAgeSeconds === undefined ? {} : { maxAgeSeconds }),
  }
}
