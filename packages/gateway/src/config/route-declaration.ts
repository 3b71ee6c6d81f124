import Type, { type Static } from 'typebox'

/** What holds for the requests of one path, as the configuration declares it. */
export const RouteDeclaration = Type.Object(
  {
    path: Type.String({
      pattern: '^/',
      description: 'A path template; a trailing * takes whatever follows.',
      examples: ['/orders/{id}', '/orders/*'],
    }),
    methods: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Z]+$', description: 'A method in capitals.', examples: ['GET'] }), {
        minItems: 1,
        description: 'Default: every method.',
      }),
    ),
    public: Type.Optional(
      Type.Boolean({ description: 'No credential is needed or looked at; counted by IP address.', default: false }),
    ),
    scope: Type.Optional(
      Type.String({ description: 'Scope names, all of which are needed.', examples: ['read:orders'] }),
    ),
    roles: Type.Optional(
      Type.Array(Type.String(), { minItems: 1, description: 'Role names, one of which is needed.' }),
    ),
    policy: Type.Optional(
      Type.String({
        description: "A policy beside the caller's tier: a request is counted by both or by none. none for no limit.",
        examples: ['search'],
      }),
    ),
    tier: Type.Optional(
      Type.Boolean({
        description:
          "Whether the caller's tier counts beside `policy`; false puts the policy in its place. Default: true, but false where `public` is true.",
      }),
    ),
    upstream: Type.Optional(
      Type.String({
        description: 'The upstream that serves it; left out for a service of ours.',
        examples: ['orders'],
      }),
    ),
  },
  { additionalProperties: false },
)
export type RouteDeclaration = Static<typeof RouteDeclaration>
