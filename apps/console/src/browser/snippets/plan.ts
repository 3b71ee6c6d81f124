import { type OperationFacts, operations } from '@gatehouse/client'
import type { OperationId } from '../../actions/index.ts'

/** How a snippet authenticates. Secrets are read from the environment, and are in no snippet. */
export type SnippetCredential =
  | { readonly kind: 'client'; readonly id: string; readonly scopes: readonly string[] }
  | { readonly kind: 'api-key' }

/** What a snippet does: it gets a token, calls an operation, or both. */
export interface SnippetRequest {
  readonly issuer: string
  readonly baseUrl: string
  readonly credential: SnippetCredential
  /** Without one the snippet gets a token. */
  readonly call?: { readonly operation: OperationId; readonly input: Readonly<Record<string, unknown>> }
}

/** The environment variable with the secret of a client. */
export const secretVariable = 'GATEHOUSE_CLIENT_SECRET'
/** The environment variable with an API key. */
export const keyVariable = 'GATEHOUSE_API_KEY'

/** The requests of a snippet, the same in every language. */
export interface SnippetPlan {
  readonly request: SnippetRequest
  /** The token request of a client. */
  readonly token?: { readonly url: string; readonly clientId: string; readonly scope: string }
  readonly call?: {
    readonly method: string
    readonly url: string
    /** JSON. */
    readonly body?: string
    readonly idempotent: boolean
  }
}

/** Plans the requests of a snippet from the table of operations. @throws TypeError for an input without a path parameter */
export function planSnippet(request: SnippetRequest): SnippetPlan {
  const { issuer, credential, call } = request
  return {
    request,
    ...(credential.kind === 'client'
      ? { token: { url: `${issuer}/token`, clientId: credential.id, scope: credential.scopes.join(' ') } }
      : {}),
    ...(call === undefined ? {} : { call: planCall(request.baseUrl, operations[call.operation], call.input) }),
  }
}

type Input = Readonly<Record<string, unknown>>

function planCall(baseUrl: string, facts: OperationFacts, input: Input): NonNullable<SnippetPlan['call']> {
  const { method, path, body, query: queryNames = [] } = facts
  const pathNames = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (typeof input[name] !== 'string') throw new TypeError(`${path} needs ${name}`)
    return encodeURIComponent(input[name])
  })
  const rest = Object.entries(input).filter(([name]) => !pathNames.includes(name))
  const isQuery = (name: string) => body === undefined || queryNames.includes(name)
  const search = new URLSearchParams(
    rest.filter(([name]) => isQuery(name)).map(([name, value]) => [name, String(value)]),
  )
  const members = Object.fromEntries(rest.filter(([name]) => !isQuery(name)))
  return {
    method,
    url: `${baseUrl}${filled}${search.size > 0 ? `?${search}` : ''}`,
    ...(body === undefined ? {} : { body: JSON.stringify(body === 'value' ? input.body : members) }),
    idempotent: facts.idempotent !== undefined,
  }
}
