export { type Console, createConsole, separateOrigins } from './console.ts'
export type { ApiService, ConsoleOptions } from './options.ts'
export { consoleScopes } from './provider/scopes.ts'
