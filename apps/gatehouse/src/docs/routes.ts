import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { type RouteRule, unlimited } from '@gatehouse/gateway'
import type { Http } from '@gatehouse/kit'
import { withComponents } from './components.ts'
import { type ApiDocument, completeDocument, type RouteFacts } from './document.ts'
import { operation } from './operations.ts'
import { securitySchemes } from './scopes.ts'
import { createJoining } from './siblings.ts'

/** What the API document says about this deployment. */
export interface ApiDocsOptions {
  readonly version: string
  readonly baseUrl: string
  readonly authUrl: string
  /** The issuer of tokens where it is not ours. */
  readonly issuer: string | undefined
  /** Whether a gateway stands here, which counts requests. */
  readonly limited: boolean
  /** Where services in other processes are, whose documents are joined to this one. */
  readonly siblings: Readonly<Record<string, string>>
}

const title = 'Gatehouse API'
const info = {
  title,
  description: `Identity, notifications and rate limits.

Errors are problem details (RFC 9457), those of OAuth endpoints as RFC 6749 §5.2 has them. Every response carries
\`X-Request-Id\`; one that was counted by a limit carries \`X-RateLimit-*\`. Times are RFC 3339.

Lists return \`{items, next?}\`: send \`next\` as \`cursor\` for the next page, and \`limit\` (50, at most 200) for its
size. What time orders is newest first.`,
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  contact: { name: 'The operator of this deployment' },
}

/** Gathers the routes registered after it into an OpenAPI 3.1 document. Answers how to register where it is read. */
export async function gatherApi(http: Http, options: ApiDocsOptions): Promise<() => Promise<void>> {
  const routes = new Map<string, { readonly config?: { readonly gatewayRule?: RouteRule } }>()
  http.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) routes.set(`${method.toLowerCase()} ${documentPath(route.url)}`, route)
  })
  // The gateway's rule is added to a route after this hook has seen it.
  const factsOf = (method: string, path: string): RouteFacts => ({
    limited: options.limited && routes.get(`${method} ${path}`)?.config?.gatewayRule?.policy !== unlimited,
    apiKeys: options.limited,
  })
  await http.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { ...info, version: options.version },
      servers: [{ url: options.baseUrl, description: 'This deployment.' }],
      components: { securitySchemes: securitySchemes(options.authUrl, options.issuer) },
    },
    hideUntagged: true,
    transformObject(gathered) {
      if (!('openapiObject' in gathered)) return gathered.swaggerObject
      return withComponents(
        completeDocument(gathered.openapiObject as ApiDocument, factsOf),
      ) as typeof gathered.openapiObject
    },
  })
  return () => registerReaders(http, options.siblings)
}

/** `/openapi.json`, and readable at `/docs`. */
async function registerReaders(http: Http, siblings: ApiDocsOptions['siblings']): Promise<void> {
  const join = createJoining(siblings)
  const document = () => join(http.swagger() as ApiDocument)
  const schema = {
    tags: ['operations'],
    ...operation('document.get'),
    security: [],
    response: {
      200: { description: 'The document.', content: { 'application/json': { schema: { type: 'object' } } } },
    },
  }
  http.get('/openapi.json', { schema }, async (_request, reply) =>
    reply.type('application/json').send(JSON.stringify(await document())),
  )
  await http.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: pageSecurity,
    uiConfig: { deepLinking: true, layout: 'BaseLayout' },
    theme: { title },
    transformSpecificationClone: false,
  })
}

/** `/users/:id` as a document writes it. */
const documentPath = (url: string) => url.replaceAll(/:([A-Za-z_]\w*)/g, '{$1}')

/** What the page may load: its own files, and nothing from elsewhere. */
const pageSecurity =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
