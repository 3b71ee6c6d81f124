/** The words about figures, the first steps and the state of the installation, in English. */
export const measure = {
  chart: {
    table: 'Show as a table',
    time: 'Time',
  },
}
