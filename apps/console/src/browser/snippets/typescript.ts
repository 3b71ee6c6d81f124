import { lines, quoted } from './literals.ts'
import { keyVariable, type SnippetPlan, secretVariable } from './plan.ts'

/** A snippet for TypeScript and JavaScript: by the client of this product, or by fetch for a token alone. */
export function typescriptSnippet({ token, request }: SnippetPlan): string {
  const { issuer, baseUrl, call } = request
  if (call === undefined) return token === undefined ? '' : tokenSnippet(token)
  const { operation, input } = call
  const argument = Object.keys(input).length === 0 ? '' : JSON.stringify(input, null, 2)
  return lines(
    `import { ${token ? 'clientCredentials' : 'apiKey'}, createGatehouse } from '@gatehouse/client'`,
    '',
    ...(token
      ? [
          'const credentials = clientCredentials({',
          `  issuer: ${quoted(issuer)},`,
          `  clientId: ${quoted(token.clientId)},`,
          `  clientSecret: process.env.${secretVariable} ?? '',`,
          `  scope: ${JSON.stringify(token.scope.split(' '))},`,
          '})',
        ]
      : [`const credentials = apiKey(process.env.${keyVariable} ?? '')`]),
    `const gatehouse = createGatehouse({ baseUrl: ${quoted(baseUrl)}, credentials })`,
    `console.log(JSON.stringify(await gatehouse.${operation}(${argument})))`,
  )
}

function tokenSnippet({ url, clientId, scope }: NonNullable<SnippetPlan['token']>): string {
  return lines(
    `const secret = process.env.${secretVariable} ?? ''`,
    `const response = await fetch(${quoted(url)}, {`,
    "  method: 'POST',",
    `  headers: { authorization: 'Basic ' + btoa(${quoted(clientId)} + ':' + secret) },`,
    `  body: new URLSearchParams({ grant_type: 'client_credentials', scope: ${quoted(scope)} }),`,
    '})',
    'console.log(await response.text())',
  )
}
