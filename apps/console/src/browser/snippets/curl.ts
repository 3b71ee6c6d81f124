import { lines, shellWord } from './literals.ts'
import { keyVariable, type SnippetPlan, secretVariable } from './plan.ts'

/** A snippet for a shell with curl. */
export function curlSnippet({ token, call }: SnippetPlan): string {
  const request = token && [
    `curl -sS --fail-with-body ${shellWord(token.url)} \\`,
    `  -u ${shellWord(`${token.clientId}:`)}"$${secretVariable}" \\`,
    `  -d grant_type=client_credentials${token.scope === '' ? '' : ` --data-urlencode ${shellWord(`scope=${token.scope}`)}`}`,
  ]
  if (call === undefined) return lines(...(request ?? []))
  const read = ` | sed -E 's/.*"access_token":"([^"]+)".*/\\1/'`
  const header = token ? '"Authorization: Bearer $TOKEN"' : `"X-API-Key: $${keyVariable}"`
  return lines(
    request && `TOKEN=$(${request.join('\n')}${read})`,
    `curl -sS --fail-with-body -X ${call.method} ${shellWord(call.url)} \\`,
    `  -H ${header}${call.body === undefined ? '' : ' \\'}`,
    call.body !== undefined && "  -H 'Content-Type: application/json' \\",
    call.body !== undefined && `  -d ${shellWord(call.body)}`,
  )
}
