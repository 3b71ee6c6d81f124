import { lines, phpText } from './literals.ts'
import { keyVariable, type SnippetPlan, secretVariable } from './plan.ts'

/** A snippet for PHP 8, without extensions. */
export function phpSnippet({ token, call }: SnippetPlan): string {
  return lines(
    '<?php',
    'function send(string $method, string $url, array $headers, string $body = ""): string',
    '{',
    '    $http = ["method" => $method, "header" => $headers, "content" => $body];',
    '    $answer = file_get_contents($url, false, stream_context_create(["http" => $http]));',
    '    if ($answer === false) throw new RuntimeException($http_response_header[0] ?? "no answer");',
    '    return $answer;',
    '}',
    '',
    ...(token
      ? [
          `$basic = base64_encode(${phpText(`${token.clientId}:`)} . getenv("${secretVariable}"));`,
          `$form = http_build_query(["grant_type" => "client_credentials", "scope" => ${phpText(token.scope)}]);`,
          '$headers = ["Authorization: Basic " . $basic, "Content-Type: application/x-www-form-urlencoded"];',
          `$answer = send("POST", ${phpText(token.url)}, $headers, $form);`,
          call ? '$token = json_decode($answer, true)["access_token"];' : 'echo $answer, PHP_EOL;',
        ]
      : []),
    ...(call
      ? [
          token
            ? '$headers = ["Authorization: Bearer " . $token, "Content-Type: application/json"];'
            : `$headers = ["X-API-Key: " . getenv("${keyVariable}"), "Content-Type: application/json"];`,
          `echo send(${phpText(call.method)}, ${phpText(call.url)}, $headers${call.body === undefined ? '' : `, ${phpText(call.body)}`}), PHP_EOL;`,
        ]
      : []),
  )
}
