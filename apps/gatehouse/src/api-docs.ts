import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { Http } from '@gatehouse/kit'

export interface ApiDocsOptions {
  readonly title: string
  readonly version: string
  readonly baseUrl: string
  readonly authUrl: string
}

/** Gathers the routes registered after it into an OpenAPI 3.1 document: `/openapi.json`, and readable at `/docs`. */
export async function registerApiDocs(http: Http, options: ApiDocsOptions): Promise<void> {
  await http.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: options.title,
        version: options.version,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: options.baseUrl }],
      components: { securitySchemes: securitySchemes(options.authUrl) },
    },
    hideUntagged: true,
  })
  http.get('/openapi.json', { schema: { hide: true } }, async () => http.swagger())
  await http.register(swaggerUi, { routePrefix: '/docs', staticCSP: pageSecurity, uiConfig: { deepLinking: true } })
}

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
