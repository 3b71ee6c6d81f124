import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { type RouteRule, unlimited } from '@gatehouse/gateway'
import type { Http } from '@gatehouse/kit'
import { withComponents } from './api-components.ts'
import { type ApiDocument, completed, type RouteFacts } from './api-document.ts'
import { createJoining } from './api-siblings.ts'

export interface ApiDocsOptions {
  readonly version: string
  readonly baseUrl: string
  readonly authUrl: string
  /** Whether a gateway stands here, which counts requests. */
  readonly limited: boolean
  /** Where services in other processes are, whose documents are joined to this one. */
  readonly siblings: Readonly<Record<string, string>>
}

const title = 'Gatehouse API'

/** Gathers the routes registered after it into an OpenAPI 3.1 document. Answers how to register where it is read. */
export async function gatherApi(http: Http, options: ApiDocsOptions): Promise<() => Promise<void>> {
  const routes = new Map<string, { readonly config?: { readonly gatewayRule?: RouteRule } }>()
  http.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) routes.set(`${method.toLowerCase()} ${documentPath(route.url)}`, route)
  })
  // The gateway's rule is added to a route after this hook has seen it.
  const factsOf = (method: string, path: string): RouteFacts => ({
    limited: options.limited && routes.get(`${method} ${path}`)?.config?.gatewayRule?.policy !== unlimited,
  })
  await http.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, version: options.version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      servers: [{ url: options.baseUrl }],
      components: { securitySchemes: securitySchemes(options.authUrl) },
    },
    hideUntagged: true,
    transformObject(gathered) {
      if (!('openapiObject' in gathered)) return gathered.swaggerObject
      return withComponents(completed(gathered.openapiObject as ApiDocument, factsOf)) as typeof gathered.openapiObject
    },
  })
  return () => registerReaders(http, options.siblings)
}

/** `/openapi.json`, and readable at `/docs`. */
async function registerReaders(http: Http, siblings: ApiDocsOptions['siblings']): Promise<void> {
  const join = createJoining(siblings)
  const document = () => join(http.swagger() as ApiDocument)
  const about = { tags: ['operations'], summary: 'This document', security: [] }
  http.get('/openapi.json', { schema: about }, document)
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

function securitySchemes(authUrl: string) {
  return {
    bearer: {
      type: 'oauth2',
      description: 'An access token of this authorization server (RFC 6750).',
      flows: { clientCredentials: { tokenUrl: `${authUrl}/token`, scopes: {} } },
    },
    basic: { type: 'http', scheme: 'basic', description: 'The id and secret of a client (RFC 6749 §2.3.1).' },
    apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  } as const
}
