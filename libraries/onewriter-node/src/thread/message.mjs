/** Returns an answer as it is sent: the properties of an error would not arrive. */
export const message = (answer) => (answer instanceof Error ? plain(answer) : answer);

const plain = ({ code, message, statement, uncertain }) => ({ code, message, statement, uncertain });
