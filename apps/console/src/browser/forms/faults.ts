import { ApiError } from '@gatehouse/client'

/** What the API says is wrong: by field of the form, and the rest. */
export interface FormFaults {
  readonly fields: Readonly<Record<string, string>>
  /** What belongs to no field; undefined when every fault has one. */
  readonly rest: string | undefined
}

interface Fault {
  readonly pointer: string
  readonly detail: string
}

/** Sorts the faults of a refusal to the fields of a form, by their JSON Pointers (RFC 6901). */
export function faultsByField(error: Error, names: readonly string[]): FormFaults {
  const faults = error instanceof ApiError ? faultsOf(error) : []
  if (faults.length === 0) return { fields: {}, rest: error.message }
  const found = faults.map((fault) => ({ ...fault, ...placeOf(fault.pointer, names) }))
  const fields: Record<string, string> = {}
  for (const { field, item, detail } of found) {
    if (field === undefined) continue
    const text = item === undefined ? detail : `${item}: ${detail}`
    fields[field] = fields[field] === undefined ? text : `${fields[field]}; ${text}`
  }
  const others = found.filter(({ field }) => field === undefined)
  const rest = others.map(({ pointer, detail }) => `${pointer} ${detail}`.trim()).join('; ')
  return { fields, rest: rest === '' ? undefined : rest }
}

function faultsOf({ problem: { errors } }: ApiError): readonly Fault[] {
  return Array.isArray(errors) ? (errors as readonly Fault[]) : []
}

/** The field of a pointer, and the number of the item in it, from 1. */
function placeOf(pointer: string, names: readonly string[]): { field?: string; item?: string } {
  const parts = pointer.replace(/^#/, '').split('/').slice(1).map(unescapePointer)
  const [name = '', index] = parts
  if (!names.includes(name)) return {}
  return index !== undefined && /^\d+$/.test(index) ? { field: name, item: String(Number(index) + 1) } : { field: name }
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
