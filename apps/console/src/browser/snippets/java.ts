import { javaText, lines } from './literals.ts'
import { keyVariable, type SnippetPlan, secretVariable } from './plan.ts'

/** A snippet for Java 17, with its standard library. */
export function javaSnippet({ token, call }: SnippetPlan): string {
  return lines(
    'import java.net.URI;',
    token && 'import java.net.URLEncoder;',
    'import java.net.http.HttpClient;',
    'import java.net.http.HttpRequest;',
    'import java.net.http.HttpResponse;',
    token && 'import java.nio.charset.StandardCharsets;',
    token && 'import java.util.Base64;',
    token && call && 'import java.util.regex.Pattern;',
    '',
    'public class Snippet {',
    '    static String send(HttpRequest request) throws Exception {',
    '        var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());',
    '        if (response.statusCode() >= 300)',
    '            throw new IllegalStateException(response.statusCode() + " " + response.body());',
    '        return response.body();',
    '    }',
    '',
    '    public static void main(String[] args) throws Exception {',
    ...(token ? tokenLines(token, call !== undefined) : []),
    ...(call ? callLines(call, token !== undefined) : []),
    '    }',
    '}',
  )
}

function tokenLines({ url, clientId, scope }: NonNullable<SnippetPlan['token']>, isUsed: boolean): string[] {
  return [
    `        var secret = System.getenv("${secretVariable}");`,
    `        var basic = Base64.getEncoder().encodeToString((${javaText(`${clientId}:`)} + secret).getBytes(StandardCharsets.UTF_8));`,
    `        var scope = URLEncoder.encode(${javaText(scope)}, StandardCharsets.UTF_8);`,
    `        var answer = send(HttpRequest.newBuilder(URI.create(${javaText(url)}))`,
    '            .header("Authorization", "Basic " + basic)',
    '            .header("Content-Type", "application/x-www-form-urlencoded")',
    '            .POST(HttpRequest.BodyPublishers.ofString("grant_type=client_credentials&scope=" + scope))',
    '            .build());',
    ...(isUsed
      ? [
          '        var found = Pattern.compile("\\"access_token\\":\\"([^\\"]+)\\"").matcher(answer);',
          '        if (!found.find()) throw new IllegalStateException(answer);',
          '        var token = found.group(1);',
        ]
      : ['        System.out.println(answer);']),
  ]
}

function callLines({ method, url, body }: NonNullable<SnippetPlan['call']>, hasToken: boolean): string[] {
  const publisher = body === undefined ? 'noBody()' : `ofString(${javaText(body)})`
  return [
    `        System.out.println(send(HttpRequest.newBuilder(URI.create(${javaText(url)}))`,
    hasToken
      ? '            .header("Authorization", "Bearer " + token)'
      : `            .header("X-API-Key", System.getenv("${keyVariable}"))`,
    ...(body === undefined ? [] : ['            .header("Content-Type", "application/json")']),
    `            .method(${javaText(method)}, HttpRequest.BodyPublishers.${publisher})`,
    '            .build()));',
  ]
}
