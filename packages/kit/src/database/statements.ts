/** A string, a quoted name, a comment or the body of a function, in which a semicolon ends nothing; or what is between. */
const token = /'[^']*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\/|(\$\w*\$)[\s\S]*?\1|;|[^'"\-/$;]+|[\s\S]/g

/**
 * The statements of an SQL text, without the semicolons that end them and without comments. For what this program itself
 * writes: strings with backslashes that escape a quote and functions in `BEGIN ATOMIC` are not known.
 */
export function splitStatements(sql: string): string[] {
  const statements = ['']
  for (const [text] of sql.matchAll(token)) {
    if (text === ';') statements.push('')
    else if (!text.startsWith('--') && !text.startsWith('/*')) statements.push(statements.pop() + text)
  }
  return statements.map((statement) => statement.trim()).filter(Boolean)
}
