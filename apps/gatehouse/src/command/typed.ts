import { type Overlap, OverlapBody } from '@gatehouse/identity'
import { StartError } from '@gatehouse/kit'
import { validateInput } from './checked.ts'

/** What was typed after a command's name: its arguments in order, and its options by name. */
export interface Typed {
  readonly args: readonly string[]
  readonly options: Readonly<Record<string, string | boolean | undefined>>
}

/** The first argument of a command whose usage names one. */
export const first = (args: readonly string[]): string => argument(args, 0)

/** The second argument of a command whose usage names two. */
export const second = (args: readonly string[]): string => argument(args, 1)

function argument(args: readonly string[], index: number): string {
  const value = args[index]
  if (value === undefined) throw new TypeError(`the usage of the command names no argument ${index + 1}`)
  return value
}

/** An option that the usage of the command requires. */
export function required(options: Typed['options'], name: string): string {
  const value = options[name]
  if (typeof value !== 'string') throw new TypeError(`the usage of the command does not require --${name}`)
  return value
}

/** An option as a member of what the API takes; none when it was left out. */
export function text(name: string, value: string | boolean | undefined): Record<string, string> {
  return typeof value === 'string' ? { [name]: value } : {}
}

/** The parts of an option that is a list. */
export function names(value: string | boolean | undefined): string[] | undefined {
  return typeof value === 'string' ? value.split(',').map((part) => part.trim()) : undefined
}

/** An option that is a list, as a member of what the API takes. */
export function list(name: string, value: string | boolean | undefined): Record<string, string[]> {
  const parts = names(value)
  return parts ? { [name]: parts } : {}
}

/** What is to be changed. @throws StartError when nothing is */
export function someOf(members: object): object {
  if (Object.keys(members).length > 0) return members
  throw new StartError('no option to change is set; `gatehouse --help` lists the options')
}

/** The option `--overlap`, in seconds. @throws StartError for one out of bounds */
export function overlap({ overlap: seconds }: Typed['options']): Overlap {
  return validateInput(OverlapBody, seconds === undefined ? {} : { overlap_seconds: Number(seconds) })
}
