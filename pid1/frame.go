package pid1

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
)

// A frame is text lines, so that any console carries it:
//
//	udsbench| begin ID BYTES SHA256
//	udsbench| ID SEQ BASE64 CRC32       SEQ from 0; CRC32 (IEEE) of "SEQ BASE64"
//	udsbench| end ID
//
// ID is the first eight digits of the SHA-256 of the data.
const (
	framePrefix = "udsbench| "
	frameChunk  = 96 // bytes of data a line
)

// WriteFrame writes data to w as a frame.
func WriteFrame(w io.Writer, data []byte) error {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	id := digest[:8]
	out := bufio.NewWriter(w)
	// The console may stand in the middle of a line of someone else's.
	fmt.Fprintf(out, "\n%sbegin %s %d %s\n", framePrefix, id, len(data), digest)
	for seq := 0; seq*frameChunk < len(data); seq++ {
		chunk := data[seq*frameChunk : min((seq+1)*frameChunk, len(data))]
		payload := base64.StdEncoding.EncodeToString(chunk)
		fmt.Fprintf(out, "%s%s %d %s %08x\n", framePrefix, id, seq, payload, frameCRC(strconv.Itoa(seq), payload))
	}
	fmt.Fprintf(out, "%send %s\n", framePrefix, id)
	return out.Flush()
}

func frameCRC(seq, payload string) uint32 {
	return crc32.ChecksumIEEE([]byte(seq + " " + payload))
}

// frame is what was read of one frame so far, from all its copies.
type frame struct {
	bytes  int
	digest string // empty until a begin line was read
	chunks map[int][]byte
}

// ReadFrame finds the last whole frame in what a console or a device holds,
// whatever stands between and inside its lines, and gives its data. Copies of
// a frame mend each other. The error says what is missing.
func ReadFrame(r io.Reader) ([]byte, error) {
	frames := map[string]*frame{}
	var order []string
	in := bufio.NewReader(r)
	for {
		line, readErr := in.ReadString('\n')
		if readErr != nil && readErr != io.EOF {
			return nil, readErr
		}
		at := strings.LastIndex(line, framePrefix)
		if at >= 0 {
			words := strings.Fields(line[at+len(framePrefix):])
			if len(words) == 4 {
				id := words[0]
				if words[0] == "begin" {
					id = words[1]
				}
				f := frames[id]
				if f == nil {
					f = &frame{chunks: map[int][]byte{}}
				}
				if f.take(words) {
					if frames[id] == nil {
						order = append(order, id)
					}
					frames[id] = f
				}
			}
		}
		if readErr == io.EOF {
			break
		}
	}
	err := fmt.Errorf("no results in it: no line begins with %q", framePrefix)
	for i := len(order) - 1; i >= 0; i-- {
		data, frameErr := frames[order[i]].join()
		if frameErr == nil {
			return data, nil
		}
		if i == len(order)-1 {
			err = frameErr
		}
	}
	return nil, err
}

// take takes one line of four words into the frame, if it is whole.
func (f *frame) take(words []string) bool {
	if words[0] == "begin" {
		size, err := strconv.Atoi(words[2])
		if err != nil || size < 0 || len(words[3]) != sha256.Size*2 || !strings.HasPrefix(words[3], words[1]) {
			return false
		}
		f.bytes, f.digest = size, words[3]
		return true
	}
	seq, err := strconv.Atoi(words[1])
	if err != nil || seq < 0 || fmt.Sprintf("%08x", frameCRC(words[1], words[2])) != words[3] {
		return false
	}
	chunk, err := base64.StdEncoding.DecodeString(words[2])
	if err != nil {
		return false
	}
	f.chunks[seq] = chunk
	return true
}

// join puts the chunks together and checks the whole.
func (f *frame) join() ([]byte, error) {
	if f.digest == "" {
		return nil, fmt.Errorf("the results have no begin line: %d lines of them came", len(f.chunks))
	}
	lines := (f.bytes + frameChunk - 1) / frameChunk
	var data []byte
	for seq := range lines {
		chunk, ok := f.chunks[seq]
		if !ok {
			return nil, fmt.Errorf("the results are damaged: of %d lines %d came whole, line %d did not", lines, len(f.chunks), seq)
		}
		data = append(data, chunk...)
	}
	if sum := sha256.Sum256(data); len(data) != f.bytes || hex.EncodeToString(sum[:]) != f.digest {
		return nil, fmt.Errorf("the results are damaged: %d bytes came, SHA-256 %x, instead of %d bytes, %s", len(data), sum, f.bytes, f.digest)
	}
	return data, nil
}
