/** E.164: at most 15 digits, the first not zero. */
const phoneNumberPattern = /^\+[1-9]\d{6,14}$/

/** Reads a phone number as a person writes it, into its form of E.164; undefined for anything else. */
export function parsePhoneNumber(text: string): string | undefined {
  const number = text.replaceAll(/[\s()./-]/g, '').replace(/^00/, '+')
  return phoneNumberPattern.test(number) ? number : undefined
}

/** How many digits the numbers of a range differ in. */
const rangeDigits = 4

/** The range that a number is in: whoever is paid for messages to a range of numbers owns all of them. */
export function rangeOf(phoneNumber: string): string {
  return phoneNumber.slice(0, -rangeDigits)
}
