import { Type } from 'typebox'
import { describeOperation } from './describe-operation.ts'
import { limitScopes } from './operators.ts'

const text = Type.String()
const count = Type.Integer({ minimum: 0 })
const { read } = limitScopes

const ruleMembers = {
  path: text,
  methods: Type.Optional(Type.Array(text)),
  public: Type.Boolean({ description: 'Credentials are not read; requests count by address.' }),
  scope: Type.Optional(text),
  roles: Type.Optional(Type.Array(text)),
  require_acr: Type.Optional(text),
  max_age_seconds: Type.Optional(Type.Integer()),
  policy: Type.Optional(text),
  producers: Type.Optional(text),
  tier: Type.Boolean({ description: "Whether the caller's tier, or anonymous, counts." }),
  upstream: Type.Optional(text),
}

const position = Type.Integer({ description: 'The place in the file, from 1.' })

const routesResponse = Type.Object({
  items: Type.Array(
    Type.Object(
      { origin: Type.Enum(['own', 'file']), position: Type.Optional(position), ...ruleMembers },
      { title: 'Route' },
    ),
  ),
})

const matchQuery = Type.Object(
  {
    method: Type.String({ pattern: '^[A-Z]{1,20}$', description: 'A method in capitals.' }),
    path: Type.String({ pattern: '^/[^?#]*$', maxLength: 2_048, description: 'A path without a query, from its /.' }),
  },
  { additionalProperties: false },
)

const matchResponse = Type.Object(
  {
    outcome: Type.Enum(['own', 'upstream', 'method', 'none', 'refused'], {
      description:
        'own: a service of Gatehouse answers; upstream: it is forwarded; method: 405; none: 404; refused: 400, the path is ambiguous.',
    }),
    route: Type.String({ description: 'The template that metrics and rejections show.' }),
    rule: Type.Optional(Type.Object(ruleMembers, { title: 'RouteRule' })),
    position: Type.Optional(position),
    allow: Type.Array(text, { description: 'The methods of the path, where the method is not one of them.' }),
    compared: Type.Array(
      Type.Object({
        position,
        path: text,
        methods: Type.Optional(Type.Array(text)),
        reason: Type.Enum(['matches', 'path_differs', 'method_differs', 'reserved_path', 'earlier_rule'], {
          description: 'reserved_path: the path is one of Gatehouse; earlier_rule: an earlier rule matches.',
        }),
      }),
      { description: 'The rules of the file whose path fits.' },
    ),
    other_paths: Type.Integer({ description: 'How many rules of the file have another path.' }),
  },
  { title: 'RouteMatch' },
)

const upstreamsResponse = Type.Object({
  items: Type.Array(
    Type.Object(
      {
        name: text,
        url: text,
        breaker: Type.Enum(['closed', 'half-open', 'open']),
        unavailable_since: Type.Optional(Type.String({ format: 'date-time' })),
        retry_in_seconds: Type.Optional(Type.Integer({ description: 'When the next request is let through.' })),
        calls: count,
        failures: Type.Integer({ minimum: 0, description: 'Calls without an answer; an error page is an answer.' }),
        p50_ms: Type.Optional(Type.Number({ description: 'Until the headers of half of the answers had arrived.' })),
        p95_ms: Type.Optional(Type.Number()),
        last_failure: Type.Optional(Type.Object({ at: Type.String({ format: 'date-time' }), message: text })),
        connections: Type.Object({ open: count, running: count, waiting: count }),
      },
      { title: 'Upstream' },
    ),
  ),
  scope: Type.Enum(['process'], { description: 'The figures are those of the process that answers.' }),
})

/** The schemas of the endpoints for routes. */
export const routeSchemas = {
  list: { ...describeOperation('routes.get', read), response: { 200: routesResponse } },
  match: { ...describeOperation('routes.match.get', read), querystring: matchQuery, response: { 200: matchResponse } },
  upstreams: { ...describeOperation('upstreams.get', read), response: { 200: upstreamsResponse } },
}
