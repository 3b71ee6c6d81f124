import { lines, quoted } from './literals.ts'
import { keyVariable, type SnippetPlan, secretVariable } from './plan.ts'

/** A snippet for Python 3, with its standard library. */
export function pythonSnippet({ token, call }: SnippetPlan): string {
  return lines(
    token && 'import base64',
    token && call && 'import json',
    'import os',
    token && 'import urllib.parse',
    'import urllib.request',
    '',
    ...(token
      ? [
          `secret = os.environ["${secretVariable}"]`,
          `basic = base64.b64encode((${quoted(`${token.clientId}:`)} + secret).encode()).decode()`,
          `form = urllib.parse.urlencode({"grant_type": "client_credentials", "scope": ${quoted(token.scope)}})`,
          `request = urllib.request.Request(${quoted(token.url)}, form.encode(), {"Authorization": f"Basic {basic}"})`,
          'with urllib.request.urlopen(request) as response:',
          call ? '    token = json.load(response)["access_token"]' : '    print(response.read().decode())',
        ]
      : []),
    ...(call
      ? [
          token
            ? 'headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}'
            : `headers = {"X-API-Key": os.environ["${keyVariable}"], "Content-Type": "application/json"}`,
          `body = ${call.body === undefined ? 'None' : `${quoted(call.body)}.encode()`}`,
          `request = urllib.request.Request(${quoted(call.url)}, body, headers, method=${quoted(call.method)})`,
          'with urllib.request.urlopen(request) as response:',
          '    print(response.read().decode())',
        ]
      : []),
  )
}
