import { lines, quoted } from './literals.ts'
import { keyVariable, type SnippetPlan, secretVariable } from './plan.ts'

/** A snippet for C# 12, with the standard library of .NET 8. */
export function csharpSnippet({ token, call }: SnippetPlan): string {
  return lines(
    'using System.Net.Http.Headers;',
    'using System.Text;',
    token && call && 'using System.Text.Json;',
    '',
    'using var http = new HttpClient();',
    ...(token ? tokenLines(token, call !== undefined) : []),
    ...(call ? callLines(call, token !== undefined) : []),
    '',
    'async Task<string> Send(HttpRequestMessage message)',
    '{',
    '    using var response = await http.SendAsync(message);',
    '    var body = await response.Content.ReadAsStringAsync();',
    '    return response.IsSuccessStatusCode ? body : throw new HttpRequestException($"{response.StatusCode} {body}");',
    '}',
  )
}

function tokenLines({ url, clientId, scope }: NonNullable<SnippetPlan['token']>, isUsed: boolean): string[] {
  return [
    `var secret = Environment.GetEnvironmentVariable("${secretVariable}");`,
    `var basic = Convert.ToBase64String(Encoding.UTF8.GetBytes(${quoted(`${clientId}:`)} + secret));`,
    `var grant = new HttpRequestMessage(HttpMethod.Post, ${quoted(url)})`,
    '{',
    '    Content = new FormUrlEncodedContent(new Dictionary<string, string>',
    '    {',
    `        ["grant_type"] = "client_credentials", ["scope"] = ${quoted(scope)},`,
    '    }),',
    '};',
    'grant.Headers.Authorization = new AuthenticationHeaderValue("Basic", basic);',
    ...(isUsed
      ? [
          'using var tokens = JsonDocument.Parse(await Send(grant));',
          'var token = tokens.RootElement.GetProperty("access_token").GetString();',
        ]
      : ['Console.WriteLine(await Send(grant));']),
  ]
}

function callLines({ method, url, body }: NonNullable<SnippetPlan['call']>, hasToken: boolean): string[] {
  return [
    `var request = new HttpRequestMessage(new HttpMethod(${quoted(method)}), ${quoted(url)});`,
    hasToken
      ? 'request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", token);'
      : `request.Headers.Add("X-API-Key", Environment.GetEnvironmentVariable("${keyVariable}"));`,
    ...(body === undefined
      ? []
      : [`request.Content = new StringContent(${quoted(body)}, Encoding.UTF8, "application/json");`]),
    'Console.WriteLine(await Send(request));',
  ]
}
