/** A call of the API, to be shown as code. */
export interface SnippetCall {
  readonly method: 'GET' | 'POST'
  /** With its query. */
  readonly path: string
  readonly body?: unknown
  /** The method of the TypeScript client. */
  readonly client: 'notify' | 'scheduled.create'
}

/** The languages of snippets. */
export const snippetLanguages = ['curl', 'TypeScript', 'Python'] as const

/** A language of snippets. */
export type SnippetLanguage = (typeof snippetLanguages)[number]

/** A call as code. Address and token are taken from the environment: `GATEHOUSE_URL` and `GATEHOUSE_TOKEN`. */
export function snippetOf(language: SnippetLanguage, call: SnippetCall): string {
  return { curl: curlOf, TypeScript: typeScriptOf, Python: pythonOf }[language](call)
}

/** A call as a command of curl, for POSIX shells. */
export function curlOf({ method, path, body }: Omit<SnippetCall, 'client'>): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$GATEHOUSE_URL"${quote(path)}`,
    `-H "Authorization: Bearer $GATEHOUSE_TOKEN"`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body))}`]),
  ]
  return lines.join(' \\\n  ')
}

/** A word of a POSIX shell: nothing in it is read but the quote itself. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function typeScriptOf({ client, body }: SnippetCall): string {
  return `import { bearer, createGatehouse } from '@gatehouse/client'

const gatehouse = createGatehouse({
  baseUrl: process.env.GATEHOUSE_URL ?? 'http://localhost:8080',
  credentials: bearer(() => process.env.GATEHOUSE_TOKEN ?? ''),
})
console.log(await gatehouse.${client}(${JSON.stringify(body, undefined, 2)}))
`
}

function pythonOf({ method, path, body }: SnippetCall): string {
  return `import json, os, urllib.request

request = urllib.request.Request(
    os.environ["GATEHOUSE_URL"] + ${JSON.stringify(path)},
    method="${method}",
    headers={
        "Authorization": "Bearer " + os.environ["GATEHOUSE_TOKEN"],
        "Content-Type": "application/json",
    },
    data=json.dumps(${pythonValue(body)}).encode(),
)
print(json.load(urllib.request.urlopen(request)))
`
}

/** A JSON value as Python writes it. */
function pythonValue(value: unknown, indent = '    '): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}    `
  const members = Array.isArray(value)
    ? value.map((each) => pythonValue(each, inner))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonValue(each, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return members.length === 0
    ? `${open}${close}`
    : `${open}\n${inner}${members.join(`,\n${inner}`)},\n${indent}${close}`
}
