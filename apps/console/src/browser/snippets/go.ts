import { lines, quoted } from './literals.ts'
import { keyVariable, type SnippetPlan, secretVariable } from './plan.ts'

/** A snippet for Go, with its standard library. */
export function goSnippet({ token, call }: SnippetPlan): string {
  const imports = [
    token && call && 'encoding/json',
    'fmt',
    'io',
    'log',
    'net/http',
    token && 'net/url',
    'os',
    'strings',
  ]
  return lines(
    'package main',
    '',
    'import (',
    ...imports.filter((name) => name !== undefined && name !== '').map((name) => `\t"${name}"`),
    ')',
    '',
    'func send(request *http.Request) []byte {',
    '\tresponse, err := http.DefaultClient.Do(request)',
    '\tif err != nil {',
    '\t\tlog.Fatal(err)',
    '\t}',
    '\tdefer response.Body.Close()',
    '\tbody, err := io.ReadAll(response.Body)',
    '\tif err != nil || response.StatusCode >= 300 {',
    '\t\tlog.Fatal(response.Status, " ", string(body), err)',
    '\t}',
    '\treturn body',
    '}',
    '',
    'func main() {',
    ...(token ? tokenLines(token, call !== undefined) : []),
    ...(call ? callLines(call, token !== undefined) : []),
    '}',
  )
}

function tokenLines({ url, clientId, scope }: NonNullable<SnippetPlan['token']>, isUsed: boolean): string[] {
  return [
    `\tform := url.Values{"grant_type": {"client_credentials"}, "scope": {${quoted(scope)}}}`,
    `\tgrant, err := http.NewRequest("POST", ${quoted(url)}, strings.NewReader(form.Encode()))`,
    '\tif err != nil {',
    '\t\tlog.Fatal(err)',
    '\t}',
    `\tgrant.SetBasicAuth(${quoted(clientId)}, os.Getenv("${secretVariable}"))`,
    '\tgrant.Header.Set("Content-Type", "application/x-www-form-urlencoded")',
    ...(isUsed
      ? [
          '\tvar tokens struct {',
          '\t\tAccessToken string `json:"access_token"`',
          '\t}',
          '\tif err := json.Unmarshal(send(grant), &tokens); err != nil {',
          '\t\tlog.Fatal(err)',
          '\t}',
        ]
      : ['\tfmt.Println(string(send(grant)))']),
  ]
}

function callLines({ method, url, body = '' }: NonNullable<SnippetPlan['call']>, hasToken: boolean): string[] {
  return [
    `\trequest, err := http.NewRequest(${quoted(method)}, ${quoted(url)}, strings.NewReader(${quoted(body)}))`,
    '\tif err != nil {',
    '\t\tlog.Fatal(err)',
    '\t}',
    hasToken
      ? '\trequest.Header.Set("Authorization", "Bearer "+tokens.AccessToken)'
      : `\trequest.Header.Set("X-API-Key", os.Getenv("${keyVariable}"))`,
    ...(body === '' ? [] : ['\trequest.Header.Set("Content-Type", "application/json")']),
    '\tfmt.Println(string(send(request)))',
  ]
}
