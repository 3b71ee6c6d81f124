/** A text as a phone network carries it. */
export interface SmsParts {
  /** GSM-7 (3GPP TS 23.038 §6.2.1) where every character is in that alphabet, else UCS-2. */
  readonly encoding: 'GSM-7' | 'UCS-2'
  /** The units in use: septets, or UTF-16 code units. */
  readonly units: number
  /** How many units a segment holds, in this number of segments. */
  readonly unitsPerSegment: number
  readonly segments: readonly SmsSegment[]
  /** The characters that are not in GSM-7, each once, in the order of the text. */
  readonly outsideGsm: readonly string[]
}

/** One segment of a text. */
export interface SmsSegment {
  readonly text: string
  readonly units: number
}

const gsm = /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà\f^{}\\[~\]|€]$/
/** Those of the extension table, which take two septets. */
const gsmDouble = /^[\f^{}\\[~\]|€]$/

const singleSegment = { 'GSM-7': 160, 'UCS-2': 70 } as const
/** A segment of several has a header, which says which one it is. */
const oneOfSeveral = { 'GSM-7': 153, 'UCS-2': 67 } as const

/**
 * Divides a text into SMS segments: 160 (153 of several) septets each, or 70 (67) UTF-16 units. What takes two units is in
 * one segment whole.
 */
export function divideSms(text: string): SmsParts {
  const characters = Array.from(text)
  const outsideGsm = [...new Set(characters.filter((character) => !gsm.test(character)))]
  const encoding = outsideGsm.length === 0 ? 'GSM-7' : 'UCS-2'
  const sizeOf = (character: string) => (encoding === 'UCS-2' ? character.length : gsmDouble.test(character) ? 2 : 1)
  const units = characters.reduce((sum, character) => sum + sizeOf(character), 0)
  if (units <= singleSegment[encoding])
    return { encoding, units, unitsPerSegment: singleSegment[encoding], segments: [{ text, units }], outsideGsm }
  const unitsPerSegment = oneOfSeveral[encoding]
  return { encoding, units, unitsPerSegment, segments: fillSegments(characters, sizeOf, unitsPerSegment), outsideGsm }
}

function fillSegments(
  characters: readonly string[],
  sizeOf: (character: string) => number,
  maxUnits: number,
): SmsSegment[] {
  const segments: { text: string; units: number }[] = []
  let last = { text: '', units: maxUnits }
  for (const character of characters) {
    const size = sizeOf(character)
    if (last.units + size > maxUnits) {
      last = { text: '', units: 0 }
      segments.push(last)
    }
    last.text += character
    last.units += size
  }
  return segments
}
