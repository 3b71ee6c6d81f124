import swagger from '@fastify/swagger'
import { type RouteRule, unlimited } from '@gatehouse/gateway'
import type { Http } from '@gatehouse/kit'
import { withComponents } from './components.ts'
import { type ApiDocument, completeDocument, type RouteFacts } from './document.ts'
import { operation } from './operations.ts'
import { type ReaderOptions, registerReader } from './reader/endpoint.ts'
import { securitySchemes } from './scopes.ts'
import { createJoining } from './siblings.ts'

/** What the API document says about this deployment. */
export interface ApiDocsOptions extends ReaderOptions {
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

const info = {
  title: 'Gatehouse API',
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
  return () => registerReaders(http, options)
}

/** `/openapi.json`, and readable at `/docs`. */
async function registerReaders(http: Http, options: ApiDocsOptions): Promise<void> {
  const join = createJoining(options.siblings)
  const textOf = createTexts()
  const schema = {
    tags: ['operations'],
    ...operation('document.get'),
    security: [],
    response: {
      200: { description: 'The document.', content: { 'application/json': { schema: { type: 'object' } } } },
    },
  }
  http.get('/openapi.json', { schema }, async (_request, reply) => {
    const document = await join(http.swagger() as ApiDocument)
    return reply.type('application/json').send(textOf(document))
  })
  registerReader(http, options)
}

/** The text of a document, which all its readers share: it is near a megabyte, and anybody may ask for it. */
function createTexts(): (document: ApiDocument) => Buffer {
  let latest: { readonly document: ApiDocument; readonly text: Buffer } | undefined
  return (document) => {
    if (latest?.document !== document) latest = { document, text: Buffer.from(JSON.stringify(document)) }
    return latest.text
  }
}

/** `/users/:id` as a document writes it. */
const documentPath = (url: string) => url.replaceAll(/:([A-Za-z_]\w*)/g, '{$1}')
